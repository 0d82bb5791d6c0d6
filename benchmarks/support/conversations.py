"""Conversations with questions whose evidence is known, read from the files of public data sets (paths are arguments).

LoCoMo: list of {sample_id, conversation{session_N, session_N_date_time}, qa}. BEAM: one folder per chat with chat.json
and probing_questions.json; a batch counts as a session.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_EVIDENCE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: its id within the conversation, its session and place."""

    id: str
    session: str
    number: int
    speaker: str
    text: str
    at: str
    """ISO-8601, UTC."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A unit of a data set; its questions are asked within it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def locomo(path: Path) -> Iterator[Conversation]:
    """Questions without usable evidence are left out."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        turns = tuple(_locomo_turns(sample["conversation"]))
        known = {turn.id for turn in turns}
        asked = (
            (qa["question"], frozenset(_EVIDENCE.findall(" ".join(qa["evidence"]))) & known) for qa in sample["qa"]
        )
        yield Conversation(sample["sample_id"], turns, tuple(Question(text, found) for text, found in asked if found))


def _locomo_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    for name, messages in conversation.items():
        if not re.fullmatch(r"session_\d+", name):
            continue
        at = datetime.strptime(conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for number, message in enumerate(messages):
            caption = message.get("blip_caption")
            text = message["text"] + (f" [shares {caption}]" if caption else "")
            yield Turn(message["dia_id"], name, number, message["speaker"], text, at.isoformat())


def beam(folder: Path) -> Iterator[Conversation]:
    """One conversation per sub-folder; evidence is the message ids of source_chat_ids."""
    for chat in sorted(folder.glob("*/chat.json")):
        turns = tuple(_beam_turns(json.loads(chat.read_text(encoding="utf-8"))))
        probing = json.loads((chat.parent / "probing_questions.json").read_text(encoding="utf-8"))
        known = {turn.id for turn in turns}
        asked = (
            (question["question"], frozenset(_numbers(question.get("source_chat_ids"))) & known)
            for questions in probing.values()
            for question in questions
        )
        yield Conversation(
            f"beam-{chat.parent.name}", turns, tuple(Question(text, found) for text, found in asked if found)
        )


def _beam_turns(batches: list[dict[str, Any]]) -> Iterator[Turn]:
    anchor = ""
    for batch in batches:
        messages = [message for turn in batch["turns"] for message in turn]
        for number, message in enumerate(messages):
            anchor = message.get("time_anchor") or batch.get("time_anchor") or anchor
            at = datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC)
            session = f"batch_{batch['batch_number']}"
            yield Turn(str(message["id"]), session, number, message["role"], message["content"], at.isoformat())


def _numbers(value: object) -> Iterator[str]:
    if isinstance(value, int):
        yield str(value)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _numbers(part)
