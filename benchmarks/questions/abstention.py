"""Whether recall says nothing when nobody knows: 200 questions that no conversation answers, beside 200 that one does.

`unanswerable.txt` was written for this, about people's doings and things that occur in none of the conversations; half
of them name a speaker, so that names alone find something.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from benchmarks.support.conversations import Conversation
from benchmarks.support.report import Row

QUESTIONS = Path(__file__).with_name("unanswerable.txt")
COUNT = 200
EMPTY, LOST = 0.8, 0.05

Nearest = Callable[[str, str], tuple[float, bool]]
"""Of a conversation and a question: the best similarity, and whether the answer by default is `nothing_close`."""


def abstention(conversations: Sequence[Conversation], nearest: Nearest) -> Iterator[Row]:
    """How often each kind gets no hits by default, and how well the best similarity tells them apart."""
    unanswerable = [nearest(*each) for each in _unanswerable(conversations)]
    answerable = [nearest(*each) for each in _answerable(conversations)]
    yield Row(f"abstention: {len(unanswerable)} nobody can answer, empty", "", (_empty(unanswerable),), goal=EMPTY)
    lost = (_empty(answerable),)
    yield Row(f"abstention: {len(answerable)} answerable, empty", "", lost, goal=LOST, at_most=True)
    better = [(one > other) + (one == other) / 2 for one, _ in answerable for other, _ in unanswerable]
    yield Row("abstention: AUC of the best similarity", "", (sum(better) / len(better),))


def _unanswerable(conversations: Sequence[Conversation]) -> Iterator[tuple[str, str]]:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()[:COUNT]
    for number, (line, conversation) in enumerate(zip(lines, cycle(conversations), strict=False)):
        speakers = sorted({turn.speaker for turn in conversation.turns})
        yield conversation.name, line.replace("{speaker}", speakers[number // len(conversations) % len(speakers)])


def _answerable(conversations: Sequence[Conversation]) -> Iterator[tuple[str, str]]:
    """Evenly spread over all questions."""
    asked = [(each.name, question.text) for each in conversations for question in each.questions]
    return islice(asked, 0, None, max(1, len(asked) // COUNT))


def _empty(answers: Sequence[tuple[float, bool]]) -> float:
    return sum(nothing for _, nothing in answers) / len(answers)
