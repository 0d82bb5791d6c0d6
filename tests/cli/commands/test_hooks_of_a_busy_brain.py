"""Hooks of a brain that answers the request for alarms, but other requests too late or with an error."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from openbrain.client.outbox import FAILURES, Outbox, Write
from openbrain.domain.errors import ServerFailed, TryLater
from openbrain_cli.agents.hooks.brain import Brain, Refused
from openbrain_cli.agents.hooks.call import CONTEXT_CHARS
from openbrain_cli.agents.hooks.command import answered
from openbrain_cli.agents.hooks.delivery import KEY, Unsent
from openbrain_cli.agents.hooks.shown import alarms

LESSON = "<!-- @lesson -->\nThe cache key must hold the tenant.\n<!-- @/lesson -->"


class Busy(Brain):
    """Everything but its alarms takes too long, and it refuses to remember."""

    def _ask(self, method: str, path: str, *_: object) -> dict[str, Any]:
        if path.startswith("/v1/amygdala/state"):
            return {"signals": [{"broadcast_severity": "critical", "source": "ci", "title": "The build burns"}]}
        if path == "/v1/whoami":
            return {"workspace_id": "w1", "agent_id": "ada"}
        if path == "/v1/brain/remember":
            raise Refused("too long")
        raise TryLater("too slow")


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A connection to a busy brain."""
    record = {"agent": "ada", "data": str(tmp_path), "recall_prompts": True, "redirect_memory_files": True}
    (tmp_path / "connection.json").write_text(json.dumps(record))
    (tmp_path / "key").write_text("ob_none")
    (tmp_path / "key").chmod(0o600)
    made = Busy("http://127.0.0.1:9", "ob_none", "ada")
    # The module of the events first: it would keep the brain of this test if it were imported later.
    for module in ("events", "brain"):
        monkeypatch.setattr(f"openbrain_cli.agents.hooks.{module}.brain_of", lambda *_: made)
    return tmp_path


def told(event: str, folder: Path, name: str, **given: Any) -> Any:
    """The text that the agent is told; None if it is told nothing."""
    asked = {"session_id": "s1", "cwd": "/home/ada/shop", "hook_event_name": name, **given}
    answer = answered(event, folder, json.dumps(asked).encode())
    return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else None


def left(folder: Path) -> tuple[int, int]:
    """The writes that wait, and those that were refused."""
    with contextlib.closing(Outbox(folder / "outbox.sqlite3")) as outbox:
        return outbox.waiting(), outbox.refused()


@pytest.mark.parametrize(("event", "name"), [("session-start", "SessionStart"), ("prompt", "UserPromptSubmit")])
def test_an_alarm_is_told_though_the_rest_comes_too_late(busy: Path, event: str, name: str) -> None:
    alarm = "Alarm (critical from ci): The build burns"

    assert told("subagent-start", busy, "SubagentStart") == alarm
    assert told(event, busy, name, prompt="go on") == alarm
    assert told("prompt", busy, "UserPromptSubmit", prompt="go on") is None


def test_a_boot_context_is_told_though_writes_can_t_be_delivered(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(*_: object, **__: object) -> None:
        raise TryLater("the time limit of this hook has passed")

    monkeypatch.setattr(Busy, "get", lambda *_, **__: {"text": "Prices are in cents."})
    monkeypatch.setattr(Busy, "post", too_late)
    told("stop", busy, "Stop", last_assistant_message=LESSON)

    assert told("session-start", busy, "SessionStart") == "Prices are in cents."
    assert left(busy) == (1, 0)


def test_a_boot_context_that_is_too_long_still_ends_with_its_mark(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "<<openbrain 0a>>\n" + "- words\n" * 2000 + "<<end 0a>>\n"
    monkeypatch.setattr(Busy, "get", lambda *_, **__: {"text": text})
    context = told("session-start", busy, "SessionStart")

    assert len(context) == CONTEXT_CHARS
    assert context.endswith("\n[shortened]\n<<end 0a>>")


def test_a_memory_file_that_the_brain_refuses_is_written(busy: Path) -> None:
    file = {"file_path": "/home/ada/.claude/memory/prices.md", "content": "Prices: cents"}

    assert told("file", busy, "PreToolUse", tool_name="Write", tool_input=file) is None
    assert left(busy) == (0, 1)


def test_each_file_of_a_long_patch_is_looked_up_in_its_turn(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def found(_self: Busy, _path: str, body: dict[str, Any]) -> dict[str, Any]:
        asked.append(body["query"])
        return {}

    monkeypatch.setattr(Busy, "post", found)
    patch = {"command": "".join(f"*** Update File: {name}.py\n" for name in "abcde")}

    for _ in range(3):
        told("file", busy, "PreToolUse", tool_input=patch)
    told("prompt", busy, "UserPromptSubmit", prompt="from \x1b[31ma terminal")

    assert asked == ["a.py", "b.py", "c.py", "d.py", "e.py", "from [31ma terminal"]


def test_a_write_on_which_the_brain_fails_does_not_hold_up_those_behind_it(
    busy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivered: list[str] = []

    def posted(_self: Busy, _path: str, body: dict[str, Any], **_: object) -> dict[str, Any]:
        if "tenant" in body["content"]:
            raise ServerFailed("internal error")
        delivered.append(body["content"])
        return {}

    monkeypatch.setattr(Busy, "post", posted)
    told("stop", busy, "Stop", last_assistant_message=LESSON)
    told("stop", busy, "Stop", last_assistant_message=LESSON.replace("tenant", "org"))
    for _ in range(FAILURES - 3):
        told("stop", busy, "Stop")
    assert (left(busy), delivered) == ((2, 0), [])

    told("stop", busy, "Stop")
    assert (left(busy), delivered) == ((0, 1), ["The cache key must hold the org."])


def test_a_halt_of_another_project_stops_nobody_here() -> None:
    halts: list[dict[str, Any]] = [
        {"scope": "project", "org": "acme", "project": "web", "title": "stop the web"},
        {"scope": "project", "org": "acme", "project": "shop", "title": "stop the shop"},
        {"scope": "org", "org": "acme", "project": "web", "title": "stop the org"},
        {"scope": "workspace", "org": None, "project": None, "title": "stop all"},
    ]

    here = [alarms({"halts": [halt]}, "shop") for halt in halts]
    anywhere = [alarms({"halts": [halt]}) for halt in halts]

    assert here[0] == ""
    assert all(
        f"HALT ({halt['scope']}): {halt['title']}\nStop: " in text for halt, text in zip(halts, anywhere, strict=True)
    )
    assert here[1:] == anywhere[1:]


class Replaced(Brain):
    """Something else answers at its address: to each method with this status and body."""

    answers: Mapping[str, tuple[int, dict[str, Any]]]

    def _ask(self, method: str, path: str, *_: object) -> dict[str, Any]:
        status, body = self.answers[method]
        if status == 500:
            raise ServerFailed(f"{path} answers 500")
        if status >= 500:
            raise TryLater("too slow")
        if status >= 300:
            raise Refused(f"{path} answers {status}")
        return body


def test_no_write_is_set_aside_while_everything_fails(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ob_x")
    (tmp_path / "key").chmod(0o600)
    brain = Replaced("http://127.0.0.1:9", "ob_x", "ada")
    unsent = Unsent(tmp_path, lambda: brain)
    unsent.keep(Write("POST", "/v1/brain/remember", {"content": "x"}, headers={KEY: "k"}))
    brain.answers = {"GET": (200, {"workspace_id": "w1", "agent_id": "ada"}), "POST": (503, {})}
    with pytest.raises(TryLater):
        unsent.deliver()
    brain.answers = {"GET": (500, {}), "POST": (500, {})}
    for _ in range(FAILURES + 1):
        with pytest.raises(TryLater):
            unsent.deliver()
    assert left(tmp_path) == (1, 0)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("status", [404, 302, 200])
def test_writes_wait_while_something_else_answers_at_the_address(tmp_path: Path, known: bool, status: int) -> None:
    """Also those of a key whose owner was asked for before."""
    (tmp_path / "key").write_text("ob_x")
    (tmp_path / "key").chmod(0o600)
    right = 200, {"workspace_id": "w1", "agent_id": "ada"}
    brain = Replaced("http://127.0.0.1:9", "ob_x", "ada")
    unsent = Unsent(tmp_path, lambda: brain)
    unsent.keep(Write("POST", "/v1/brain/remember", {"content": "x"}, headers={KEY: "k"}))
    if known:
        brain.answers = {"GET": right, "POST": (503, {})}
        with pytest.raises(TryLater):
            unsent.deliver()
    brain.answers = {"GET": (status, {}), "POST": (404, {})}
    with pytest.raises(TryLater):
        unsent.deliver()
    assert left(tmp_path) == (1, 0)
    brain.answers = {"GET": right, "POST": (404, {})}
    unsent.deliver()
    assert left(tmp_path) == (0, 1)
