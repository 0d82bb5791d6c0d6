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


def held(words: frozenset[str], text: str) -> frozenset[str]:
    """The words that a text contains, exactly or as the beginning of a word."""
    there = frozenset(WORD.findall(text.casefold()))
    # No word has a space in it, so that one behind a space begins one.
    spaced = f" {' '.join(there)}"
    return frozenset(word for word in words if word in there or ((start := beginning(word)) and f" {start}" in spaced))
