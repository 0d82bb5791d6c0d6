"""A labelled set of memories: 60 that try to instruct the model that reads them, 60 that only look like it.

In `instruction_samples.txt` each line is a memory, with + or - before it. Every second one of each kind was held out:
the rules were written on the other half only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HALVES: Final = ("first", "second")
_FILE: Final = Path(__file__).with_suffix(".txt")


@dataclass(frozen=True, slots=True)
class Sample:
    """`instructs` is a person's judgement of the text."""

    text: str
    instructs: bool
    half: str


def samples() -> Sequence[Sample]:
    """All of them."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    kinds = {sign: [line[2:] for line in lines if line[0] == sign] for sign in "+-"}
    return [
        Sample(text, sign == "+", HALVES[number % 2])
        for sign, texts in kinds.items()
        for number, text in enumerate(texts)
    ]
