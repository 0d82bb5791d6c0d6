"""What must be true of a host's transcript, the stored thoughts, and the requests that its model received."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from openbrain_cli.memories.transfer.foreign.formats import openclaw
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow
from tests.openclaw.harness.gateway import ANSWER
from tests.openclaw.harness.talker import CHARS_PER_TOKEN, WINDOW, Asked

Said = tuple[str, str]
"""The role, and the text without white space, because writers format the JSON of calls differently."""


def sessions(database: Path) -> Sequence[str]:
    """Return the keys of all sessions that have messages."""
    read = openclaw.rows_of(database)
    assert read is not None
    return list(dict.fromkeys(row["session"] for row in read() if not isinstance(row, BrokenRow)))


def transcript(database: Path, session: str) -> Sequence[Sequence[Said]]:
    """Return the finished turns of a session, as the host keeps them. An interrupted turn has no answer and is not
    counted."""
    read = openclaw.rows_of(database)
    assert read is not None
    rows = [row for row in read() if not isinstance(row, BrokenRow) and row["session"] == session]
    rows = [row for row in rows if not _announced(row["message"])]
    turns: list[list[tuple[Mapping[str, Any], Said]]] = []
    for row in rows:
        line = openclaw.line(row, "")
        said = (str(line["metadata"]["role"]), _bare(line["content"]))
        if said[0] == "user" or not turns:
            turns.append([])
        turns[-1].append((row["message"], said))
    return [[said for _, said in turn if said[1]] for turn in turns if _finished(turn[-1][0])]


def _announced(message: Mapping[str, Any]) -> bool:
    """Whether the message answers a sub-agent's end without a user message: the host passes it to no engine and no
    model."""
    return str(message.get("__openclaw", {}).get("runId", "")).startswith("announce:")


def _finished(last: Mapping[str, Any]) -> bool:
    return last["role"] == "assistant" and last.get("stopReason") not in ("aborted", "error", "toolUse")


def said(thoughts: Sequence[Mapping[str, Any]]) -> Sequence[Said]:
    return [(row["metadata"]["role"], _bare(row["content"])) for row in thoughts]


def _bare(text: str) -> str:
    return "".join(text.split())


def stored_once_in_order(turns: Sequence[Sequence[Said]], thoughts: Sequence[Mapping[str, Any]]) -> None:
    """Check that each message of each finished turn is stored once, in the order of the transcript."""
    expected = [said for turn in turns for said in turn]
    stored = said(thoughts)
    assert len({row["id"] for row in thoughts}) == len(thoughts)
    first = next((at for at, (one, other) in enumerate(zip(expected, stored, strict=False)) if one != other), None)
    assert first is None, f"message {first}: {expected[first]} is stored as {stored[first]}"
    assert len(expected) == len(stored), f"{len(expected)} messages, {len(stored)} thoughts"


def within_window(asked: Asked) -> None:
    used = len(orjson.dumps(asked.body["messages"])) + len(orjson.dumps(asked.body.get("tools", [])))
    assert used / CHARS_PER_TOKEN <= WINDOW - ANSWER, f"turn {asked.turn}: {used} characters"


def pairs_whole(asked: Asked) -> None:
    """Check that each call is followed directly by its result, and that no result lacks its call."""
    waiting: list[str] = []
    for message in asked.messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"turn {asked.turn}: a result without its call"
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, f"turn {asked.turn}: a call without its result"
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    assert not waiting


def stable_shares(requests: Sequence[Asked], first: int = 0) -> Sequence[float]:
    """Return the share of each request that is a prefix of the next one; `first`: 1 leaves out the system prompt."""
    texts = [orjson.dumps(asked.messages[first:])[:-1].decode() for asked in requests]
    return [_beginning(before, now) / len(before) for before, now in pairwise(texts)]


def _beginning(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
