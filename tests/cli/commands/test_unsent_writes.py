"""Writes of tools and hooks that the brain has not received are shown, whether or not it runs."""

from contextlib import closing
from pathlib import Path

from openbrain.client.outbox import Outbox, Write
from openbrain.domain.access.permissions import Permission
from openbrain_cli.profile import profile
from openbrain_cli.system.diagnosis.examination import examine
from tests.support.api.brain import Brain
from tests.support.cli.typed_json import Terminal, terminal

__all__ = ["terminal"]

REMEMBER = Write("POST", "/v1/brain/remember", {"content": "Prices are in cents.", "type": "fact"})


def filled(data: Path) -> tuple[Path, Path]:
    """Outboxes of a tool, with one write waiting and one refused, and of a hook with one waiting."""
    tool, hook = data / "outbox" / "0a.sqlite3", data / "agents" / "codex" / "outbox.sqlite3"
    with closing(Outbox(tool)) as outbox:
        outbox.refuse(outbox.keep(REMEMBER.keyed()), "org: must be acme")
        outbox.keep(REMEMBER.keyed())
    with closing(Outbox(hook)) as outbox:
        outbox.keep(REMEMBER.keyed())
    return tool, hook


async def test_status_shows_them(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    key, data = await brain.key(permissions=frozenset(Permission)), tmp_path / "data"
    tool, hook = filled(data)
    (data / "outbox" / "damaged.sqlite3").write_bytes(b"no database, and longer than the header of one" * 9)
    (data / "agents" / "claude").mkdir()
    with closing(Outbox(data / "agents" / "claude" / "outbox.sqlite3")) as delivered:
        delivered.delivered(delivered.keep(REMEMBER.keyed()))

    shown = (await terminal.typed(key, "status", "--data", str(data))).stdout
    _, report, _ = await terminal.run(key, "status", "--data", str(data))

    assert [line for line in shown.splitlines() if line.startswith("unsent")] == [
        f"unsent  1 waiting for the brain ({hook})",
        f"unsent  1 waiting for the brain; 1 refused, the last one because: org: must be acme ({tool})",
        f"unsent  {data}/outbox/damaged.sqlite3 can't be read: DatabaseError: file is not a database",
    ]
    assert "Prices" not in shown
    assert [(each["file"], each["waiting"], each["refused"]) for each in report["unsent"]][:2] == [
        (str(hook), 1, 0),
        (str(tool), 1, 1),
    ]


async def test_status_without_any_is_silent(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    _, report, _ = await terminal.run(key, "status", "--data", str(tmp_path / "data"))

    assert "unsent" not in report
    assert not (tmp_path / "data").exists()


async def test_the_doctor_tells_them_although_nothing_answers(tmp_path: Path) -> None:
    tool, _ = filled(tmp_path)
    (tmp_path / "key").write_text("ob_unknown")
    (tmp_path / "key").chmod(0o600)
    findings = [each async for each in examine(profile("http://127.0.0.1:9", tmp_path / "key", tmp_path), str)]

    (unsent,) = [finding for finding in findings if finding.name == "unsent writes"]
    assert (unsent.status, len(unsent.problems)) == ("yellow", 2)
    assert str(tool) in unsent.problems[1]
