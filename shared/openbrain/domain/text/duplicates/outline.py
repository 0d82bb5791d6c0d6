"""Cheap features of a text, to skip the word-by-word comparison for most pairs."""

import re
from dataclasses import dataclass
from typing import Self

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.tokens import FILLERS

LONG = 4
"""Minimum length of compared words: shorter ones are more often written in another form."""
_DIGITS = re.compile(r"\d+")
_WORDS = re.compile("[^\\W\\d_]+(?:['\u2019][^\\W\\d_]+)*")
_APOSTROPHE = re.compile("['\u2019]")
_LETTERS = re.compile(r"[^\W\d_]+")
_CONTRACTED = frozenset(("am", "ar", "ca", "ha", "no", "wi", "wo"))
"""First letters of the words contracted in `they've`, `won't` or `cannot`."""


def about(memory: Memory) -> tuple[str, ...]:
    """Equal if one memory can say all that the other says: speaker, title, session, digits."""
    session = memory.session_id if memory.turn is not None else ""
    return memory.speaker, memory.title.casefold(), session, "".join(_DIGITS.findall(memory.content))


@dataclass(frozen=True, slots=True)
class Outline:
    """The first two letters of words, which a word shares with its plural and with most typos."""

    wanted: frozenset[str]
    """Of longer words; another memory that says as much must contain them."""
    there: frozenset[str]
    """Of all words, including ones that may be hidden in contractions."""

    @classmethod
    def of(cls, memory: Memory) -> Self:
        text = memory.content.casefold()
        runs = set(_LETTERS.findall(text))
        whole = {word for word in _WORDS.findall(text) if word.isalpha()} if _APOSTROPHE.search(text) else runs
        words = {word for word in whole if len(word) >= LONG}
        return cls(
            wanted=frozenset(word[:2] for word in words - FILLERS - {"cannot"}),
            there=_CONTRACTED.union(word[:2] for word in runs),
        )

    def may_say_all(self, other: "Outline") -> bool:
        """True if a full comparison is worthwhile; False is certain."""
        return other.wanted <= self.there
