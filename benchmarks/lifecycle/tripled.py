"""Recall over conversations imported three times in different words, after dedupe and consolidate, compared with one
clean import; and the number of active rows then.

The second import spells out contractions and drops fillers, the third uses other everyday words; both end sentences
differently. The word lists are separate from those used to judge duplicates.
"""

import argparse
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx

from benchmarks.questions.retrieval import store
from benchmarks.support.conversations import Conversation, Turn, locomo
from benchmarks.support.report import Report, Row, share
from benchmarks.support.system import running, wait_until_indexed

NAME = "tripled"
LOSS, LIVE = -0.01, 0.4
LIMITS = {"OPENBRAIN_SERVER__RATE_PER_MINUTE": "1000000"}
THRESHOLD = 0.95
_SPELLED = {
    "i'm": "I am",
    "it's": "it is",
    "that's": "that is",
    "i've": "I have",
    "don't": "do not",
    "can't": "cannot",
    "didn't": "did not",
    "you're": "you are",
    "we're": "we are",
    "what's": "what is",
    "i'll": "I will",
    "isn't": "is not",
    "they're": "they are",
    "wasn't": "was not",
    "let's": "let us",
    "there's": "there is",
    "haven't": "have not",
}
_OTHERWISE = {
    "kids": "children",
    "awesome": "amazing",
    "thanks": "thank you",
    "started": "began",
    "mom": "mother",
    "dad": "father",
    "photo": "picture",
    "pic": "picture",
    "great": "excellent",
    "glad": "happy",
    "big": "large",
    "help": "assist",
    "job": "work",
    "movie": "film",
    "hi": "hello",
    "hey": "hello",
    "maybe": "perhaps",
    "enjoy": "like",
    "buy": "purchase",
    "trip": "journey",
}
_FILLERS = re.compile(r"\b(?:really|just|actually|so|totally|definitely|super) ", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
Reword = Callable[[str], str]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the threshold. The file is that of the benchmark `retrieval`: --locomo."""
    parser.add_argument("--tripled-threshold", type=float, default=THRESHOLD, help="threshold of consolidate")


def run(options: argparse.Namespace) -> Report:
    """Import, ask, merge, ask again. The clean import has a separate system, because the weight of a word depends on
    everything in the text index."""
    if not options.locomo:
        return Report(NAME, (), ("left out: give --locomo FILE",))
    conversations = list(locomo(options.locomo))
    with running(LIMITS) as system, system.client() as client:
        clean = [_stored(client, each, "clean", [_plain]) for each in conversations]
        found = {"clean": _found(client, conversations, clean, "clean")}
    with running(LIMITS) as system, system.client() as client:
        tripled = [_stored(client, each, "tripled", [_plain, spelled_out, otherwise]) for each in conversations]
        found["tripled"] = _found(client, conversations, tripled, "tripled")
        reports = [
            _ended(client, "dedupe", {}),
            _ended(client, "consolidate", {"threshold": options.tripled_threshold}),
        ]
        living = {memory_id for each in conversations for memory_id in _living(client, _project(each, "tripled"))}
        wait_until_indexed(client, sorted(living))
        found["merged"] = _found(client, conversations, tripled, "tripled")
    rows = sum(len(each) for each in tripled)
    return Report(NAME, (*_rows(found), _live(living, rows)), tuple(reports))


def _rows(found: Mapping[str, Sequence[bool]]) -> Sequence[Row]:
    rows = []
    for side, hits in found.items():
        value, low, high = share(hits)
        rows.append(Row(f"turn any@10, {side}", f"[{low:.3f}, {high:.3f}]", (value,)))
    gain = sum(found["merged"]) / len(found["merged"]) - sum(found["clean"]) / len(found["clean"])
    return [*rows, Row(f"merged minus clean, {len(found['clean'])} questions", "", (gain,), goal=LOSS)]


def _live(living: set[str], rows: int) -> Row:
    return Row(f"rows live of {rows}", "", (len(living) / rows,), goal=LIVE, at_most=True)


def _plain(text: str) -> str:
    return text


def spelled_out(text: str) -> str:
    """The text with contractions spelled out and without fillers."""
    text = _FILLERS.sub("", text)
    return _put(text, _SPELLED).replace("!", ".")


def otherwise(text: str) -> str:
    """The text with other everyday words and an introduction."""
    return f"Well, {_put(text, _OTHERWISE).rstrip('.!')}"


def _put(text: str, words: Mapping[str, str]) -> str:
    def put(found: re.Match[str]) -> str:
        word = found[0]
        other = words.get(word.lower().replace("\u2019", "'"), word)
        return other[:1].upper() + other[1:] if word[:1].isupper() else other

    return _WORD.sub(put, text)


def _project(conversation: Conversation, side: str) -> str:
    return f"{side}-{conversation.name}"


def _stored(client: httpx.Client, conversation: Conversation, side: str, wordings: Sequence[Reword]) -> dict[str, Turn]:
    """Store the conversation in these wordings; return the turns by memory id."""
    turns: dict[str, Turn] = {}
    for wording in wordings:
        said = tuple(replace(turn, text=wording(turn.text)) for turn in conversation.turns)
        turns |= store(client, replace(conversation, name=_project(conversation, side), turns=said))
    return turns


def _found(
    client: httpx.Client, conversations: Sequence[Conversation], turns: Sequence[Mapping[str, Turn]], side: str
) -> list[bool]:
    """For each question: True if a turn that answers it is among the first ten hits."""
    found = []
    for conversation, known in zip(conversations, turns, strict=True):
        for question in conversation.questions:
            body = {"query": question.text[:2000], "project": _project(conversation, side), "top_k": 10}
            memories = client.post("/v1/brain/recall", json=body).raise_for_status().json()["memories"]
            found.append(any(known[memory["id"]].id in question.evidence for memory in memories))
    return found


def _ended(client: httpx.Client, job: str, body: Mapping[str, object]) -> str:
    """The operation's report in one line."""
    begun = client.post(f"/v1/admin/lifecycle:{job}", json={**body, "dry_run": False}).raise_for_status().json()
    path, start = f"/v1/admin/operations/{begun['operation']['id']}", time.monotonic()
    while (operation := client.get(path).raise_for_status().json())["status"] in ("queued", "running"):
        time.sleep(0.2)
    counts = {name: number for name, number in operation["result"].items() if isinstance(number, int)}
    return f"{job}: {operation['status']}, {counts}, {time.monotonic() - start:.0f} s for {operation['done']} memories"


def _living(client: httpx.Client, project: str) -> list[str]:
    found: list[str] = []
    asked: dict[str, Any] = {"project": project, "limit": 100}
    while True:
        page = client.get("/v1/brain/list", params=asked).raise_for_status().json()
        found += [memory["id"] for memory in page["memories"]]
        if page["next_cursor"] is None:
            return found
        asked["cursor"] = page["next_cursor"]
