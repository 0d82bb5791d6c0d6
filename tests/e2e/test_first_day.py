"""An empty home whose user agreed once: after a day of transcripts, vault, feed and brief exist, and nobody asked for
a tick."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.cli.terminal import Terminal, up, wait_until

CWD = "/home/ada/dev/shop"
DAY = {
    "morning": "please fix the checkout that rounds prices",
    "noon": "please fix the checkout that rounds vouchers",
    "evening": "please fix the checkout that rounds refunds",
}
"""The first question of each session."""


def records(begun: datetime, asked: str) -> Iterator[dict[str, object]]:
    """The records of a session of six turns."""
    for turn in range(6):
        said = asked if turn == 0 else f"step {turn} please"
        answer = [
            {"type": "text", "text": "The test failed with error 500. Fixed, tests are green."},
            {"type": "tool_use", "id": "x", "name": "Edit", "input": {"file_path": f"{CWD}/checkout.py"}},
        ]
        for number, (role, content) in enumerate((("user", said), ("assistant", answer))):
            at = begun + timedelta(minutes=4 * turn + number)
            beside = {"timestamp": f"{at:%Y-%m-%dT%H:%M:%S.000Z}", "cwd": CWD, "gitBranch": "fix/rounding"}
            message = {"role": role, "content": content}
            yield {"type": role, "sessionId": "s", **beside, "message": message}


def worked(home: Path, now: datetime) -> None:
    """Write the transcripts of a day of three sessions, as an agent on this machine leaves them."""
    folder = home / ".claude" / "projects" / CWD.replace("/", "-")
    folder.mkdir(parents=True)
    for number, (name, asked) in enumerate(DAY.items()):
        session = records(now - timedelta(hours=9 - 3 * number), asked)
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in session))


def test_after_a_working_day_vault_feed_and_brief_are_there_unasked(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, tmp_path / "data")
    worked(tmp_path, datetime.now(UTC))
    assert terminal.run("transcripts", "on").code == 0
    feed = terminal.data / "vault" / "brain-feed" / "hot-arcs.md"
    with up(terminal):
        wait_until(lambda: feed.exists() and all(asked in feed.read_text() for asked in DAY.values()))
        brief = terminal.run("brief", "--json").json

    arcs = {page.stem: page.read_text() for page in (terminal.data / "vault" / "clusters").rglob("*please*.md")}
    assert len(arcs) == len(DAY)
    for name, asked in DAY.items():
        (page,) = (text for text in arcs.values() if f"title: {asked}\n" in text)
        assert f"source_sessions:\n  - {name}\n" in page
        assert "project: shop\n" in page
    assert (brief["vault"], {item["title"] for item in brief["changed"]}) == (True, set(DAY.values()))
    assert {item["project"] for item in brief["changed"]} == {"shop"}
