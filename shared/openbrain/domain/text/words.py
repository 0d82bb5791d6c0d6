"""The words of a text that say something, and whether another text holds them."""

import re

from openbrain.domain.text.tokens import FUNCTION_WORDS

WORD = re.compile(r"\w+")
SHORTEST_BEGINNING = 4
_ENDING = 3


def words_of(text: str) -> frozenset[str]:
    """The words but for stop words."""
    return frozenset(WORD.findall(text.casefold())) - FUNCTION_WORDS


def beginning(word: str) -> str:
    """The common beginning of a word's inflected forms; '' for a short or unusual word, which must occur as it is."""
    if len(word) < 5 or not word.isalpha():
        return ""
    return word[: max(SHORTEST_BEGINNING, len(word) - _ENDING)]


def holds(words: frozenset[str], word: str) -> bool:
    """Whether the word, or one that begins alike, is among these."""
    start = beginning(word)
    return word in words or bool(start and any(other.startswith(start) for other in words))
