"""Does recall return nothing if no memory answers? 200 questions that no conversation answers, and 200 that one does.

`unanswerable.txt` was written for this, about events and things that occur in none of the conversations; half of the
questions name a speaker, so that names alone find something.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import httpx

from benchmarks.questions.retrieval import conversations_of, store
from benchmarks.support.conversations import Conversation
from benchmarks.support.report import Report, Row
from benchmarks.support.system import running

NAME = "abstention"
QUESTIONS = Path(__file__).with_name("cases") / "unanswerable.txt"
COUNT = 200
EMPTY, LOST = 0.8, 0.05


def add_options(_parser: argparse.ArgumentParser) -> None:
    """No options: those of `retrieval` name the conversations."""


def run(options: argparse.Namespace) -> Report:
    """Start a system, store, wait, ask."""
    conversations = [each for some in conversations_of(options).values() for each in some]
    if not conversations:
        return Report(NAME, (), ("left out: give --locomo FILE and --beam FOLDER",))
    with running() as system, system.client() as client:
        for conversation in conversations:
            store(client, conversation)
        unanswerable = [_nearest(client, *each) for each in _unanswerable(conversations)]
        answerable = [_nearest(client, *each) for each in _answerable(conversations)]
    return Report(NAME, tuple(_rows(unanswerable, answerable)), ("asked with ten hits, by default",))


def _rows(unanswerable: Sequence[tuple[float, bool]], answerable: Sequence[tuple[float, bool]]) -> Iterator[Row]:
    """Share of each kind without hits by default, and how well the best similarity separates the kinds."""
    yield Row(f"{len(unanswerable)} nobody can answer, empty", "", (_empty(unanswerable),), goal=EMPTY)
    lost = (_empty(answerable),)
    yield Row(f"{len(answerable)} answerable, empty", "", lost, goal=LOST, at_most=True)
    better = [(one > other) + (one == other) / 2 for one, _ in answerable for other, _ in unanswerable]
    yield Row("AUC of the best similarity", "", (sum(better) / len(better),))


def _nearest(client: httpx.Client, project: str, question: str) -> tuple[float, bool]:
    """The best similarity of any hit, and whether the default answer reports that nothing is close."""
    body = {"query": question[:2000], "project": project, "top_k": 10}
    default = client.post("/v1/brain/recall", json=body).raise_for_status().json()
    whole = client.post("/v1/brain/recall", json={**body, "precision": "recall"}).raise_for_status().json()
    return max((each["similarity"] for each in whole["memories"]), default=0.0), default["nothing_close"]


def _unanswerable(conversations: Sequence[Conversation]) -> Iterator[tuple[str, str]]:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()[:COUNT]
    for number, (line, conversation) in enumerate(zip(lines, cycle(conversations), strict=False)):
        speakers = sorted({turn.speaker for turn in conversation.turns})
        yield conversation.name, line.replace("{speaker}", speakers[number // len(conversations) % len(speakers)])


def _answerable(conversations: Sequence[Conversation]) -> Iterator[tuple[str, str]]:
    """A sample spread evenly over all questions."""
    asked = [(each.name, question.text) for each in conversations for question in each.questions]
    return islice(asked, 0, None, max(1, len(asked) // COUNT))


def _empty(answers: Sequence[tuple[float, bool]]) -> float:
    return sum(nothing for _, nothing in answers) / len(answers)
