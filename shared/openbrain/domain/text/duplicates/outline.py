"""Cheap features of a wording: most pairs are not near-equal, and are not to be read word by word."""

import re
from dataclasses import dataclass
from typing import Self

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.tokens import FILLERS

LONG = 4
"""Letters of a word that is looked at: shorter ones are read as others more often."""
_DIGITS = re.compile(r"\d+")
_WORDS = re.compile("[^\\W\\d_]+(?:['\u2019][^\\W\\d_]+)*")
_APOSTROPHE = re.compile("['\u2019]")
_LETTERS = re.compile(r"[^\W\d_]+")
_CONTRACTED = frozenset(("am", "ar", "ca", "ha", "no", "wi", "wo"))
"""Beginnings of the words contracted in `they've`, `won't` or `cannot`."""


def about(memory: Memory) -> tuple[str, ...]:
    """Equal for two of which one says all that the other says: speaker, title, session, digits."""
    session = memory.session_id if memory.turn is not None else ""
    return memory.speaker, memory.title.casefold(), session, "".join(_DIGITS.findall(memory.content))


@dataclass(frozen=True, slots=True)
class Outline:
    """The first two letters of words: a word, its plural, and one with a typo begin alike."""

    wanted: frozenset[str]
    """Of longer words that must be held by who says as much."""
    there: frozenset[str]
    """Of all words, and of some that may be."""

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
        """Whether it is worth a closer look; False is certain."""
        return other.wanted <= self.there
