"""Share of questions whose turns recall finds, step by step: keywords, vectors, both fused, with late
interaction, with neighbours, and all steps together; then the default recall, with ten hits and its floor.

Every turn is one memory, stored through remember:batch and recalled within its own conversation.
any@k: at least one turn of the evidence (or one of its sessions) is among the first k.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx

from benchmarks.support.conversations import Conversation, Question, Turn, beam, locomo
from benchmarks.support.report import Report, Row, share
from benchmarks.support.system import running, wait_until_indexed

NAME = "retrieval"
Json = float | bool | str
BARE: dict[str, Json] = {"late_weight": 0.0, "neighbours": False}
ALL: dict[str, Json] = {"top_k": 100, "precision": "recall"}
SIDES: Mapping[str, dict[str, Json]] = {
    "text": {"text_weight": 1.0, **BARE, **ALL},
    "vectors": {"text_weight": 0.0, **BARE, **ALL},
    "fused": {**BARE, **ALL},
    "fused, neighbours": {"late_weight": 0.0, **ALL},
    "fused, late": {"neighbours": False, **ALL},
    "all steps": ALL,
    "by default": {},
}
STEPS = (
    ("fused", "text"),
    ("fused", "vectors"),
    ("fused, neighbours", "fused"),
    ("fused, late", "fused"),
    ("all steps", "fused, neighbours"),
    ("all steps", "text"),
    ("by default", "all steps"),
)
"""A step, and the steps that it is added to."""
GOALS = {("LoCoMo", "turn any@10"): 0.86, ("LoCoMo", "session any@5"): 0.95}
"""Goals of the default recall, on the conversations on which its weights were chosen."""
MEASURES = ("turn any@1", "turn any@5", "turn any@10", "session any@5")
ALLOWED_LOSS = -0.02
BATCH = 100


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the paths of the data sets; without any the benchmark is skipped with a note."""
    parser.add_argument("--locomo", type=Path, help="LoCoMo file")
    parser.add_argument("--beam", type=Path, help="BEAM folder with one sub-folder per chat")
    parser.add_argument("--retrieval-model", default="", help="embedded model, from `openbrain models list`")


def run(options: argparse.Namespace) -> Report:
    """Start a system, store, wait, ask."""
    sets = conversations_of(options)
    if not sets:
        return Report(NAME, (), ("left out: give --locomo FILE and --beam FOLDER",))
    with running({"OPENBRAIN_EMBEDDING__MODEL": options.retrieval_model}) as system, system.client() as client:
        found = {name: list(_ask_all(client, conversations)) for name, conversations in sets.items()}
    if len(found) > 1:
        found["pooled"] = [answers for part in found.values() for answers in part]
    model = options.retrieval_model or "the embedded default"
    about = f"{len(found.get('pooled', [])) or ''} questions, top 100 candidates, {model}"
    return Report(NAME, tuple(_rows(found)), (about,))


def conversations_of(options: argparse.Namespace) -> dict[str, list[Conversation]]:
    """The conversations of each given data set."""
    sets: dict[str, list[Conversation]] = {}
    if options.locomo:
        sets["LoCoMo"] = list(locomo(options.locomo))
    if options.beam:
        sets["BEAM"] = list(beam(options.beam))
    return sets


Answers = dict[tuple[str, str], bool]
"""(side, measure) -> True if this question was answered."""


def _ask_all(client: httpx.Client, conversations: Sequence[Conversation]) -> Iterator[Answers]:
    for conversation in conversations:
        turns = store(client, conversation)
        for question in conversation.questions:
            yield {
                (side, measure): hit
                for side, asked in SIDES.items()
                for measure, hit in _ask(client, conversation.name, question, turns, asked).items()
            }


def store(client: httpx.Client, conversation: Conversation) -> dict[str, Turn]:
    """Store every turn, wait until all are indexed, and return them by memory id."""
    turns: dict[str, Turn] = {}
    for start in range(0, len(conversation.turns), BATCH):
        part = conversation.turns[start : start + BATCH]
        body = {"memories": [_memory(conversation.name, turn) for turn in part]}
        results = client.post("/v1/brain/remember:batch", json=body).raise_for_status().json()["results"]
        turns.update({result["id"]: turn for result, turn in zip(results, part, strict=True)})
    wait_until_indexed(client, list(turns))
    return turns


def _memory(project: str, turn: Turn) -> dict[str, object]:
    return {
        "content": turn.text,
        "type": "context",
        "project": project,
        "session_id": f"{project}/{turn.session}",
        "turn": turn.number,
        "speaker": turn.speaker,
        "occurred_at": turn.at,
    }


def _ask(
    client: httpx.Client,
    project: str,
    question: Question,
    turns: Mapping[str, Turn],
    asked: Mapping[str, Json],
) -> dict[str, bool]:
    body = {"query": question.text[:2000], "project": project, **asked}
    memories = client.post("/v1/brain/recall", json=body).raise_for_status().json()["memories"]
    found = [turns[memory["id"]] for memory in memories]
    sessions = list(dict.fromkeys(turn.session for turn in found))
    wanted = {turn.session for turn in turns.values() if turn.id in question.evidence}
    return {
        "turn any@1": any(turn.id in question.evidence for turn in found[:1]),
        "turn any@5": any(turn.id in question.evidence for turn in found[:5]),
        "turn any@10": any(turn.id in question.evidence for turn in found[:10]),
        "session any@5": any(session in wanted for session in sessions[:5]),
    }


def _rows(found: Mapping[str, Sequence[Answers]]) -> Iterator[Row]:
    for name, answers in found.items():
        for measure in MEASURES:
            for side in SIDES:
                value, low, high = share(answer[side, measure] for answer in answers)
                goal = GOALS.get((name, measure)) if side == "by default" else None
                yield Row(f"{name}: {measure}, {side}", f"[{low:.3f}, {high:.3f}]", (value,), goal=goal)
            yield from (_gain(name, measure, answers, *step) for step in STEPS)


def _gain(name: str, measure: str, answers: Sequence[Answers], step: str, before: str) -> Row:
    """The gain of a step, paired by question, with its 95 % interval."""
    gains = [int(answer[step, measure]) - int(answer[before, measure]) for answer in answers]
    mean = sum(gains) / len(gains)
    spread = 1.96 * math.sqrt(sum((gain - mean) ** 2 for gain in gains)) / len(gains)
    goal = ALLOWED_LOSS if step == "all steps" and before == "text" else None
    unit = f"[{mean - spread:.3f}, {mean + spread:.3f}]"
    return Row(f"{name}: {measure}, {step} minus {before}", unit, (mean,), goal=goal)
