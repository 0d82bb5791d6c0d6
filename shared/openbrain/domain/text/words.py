"""The content words of a text, and whether another text contains them."""

import re
from collections.abc import Iterator
from itertools import pairwise

from openbrain.domain.memory import Memory
from openbrain.domain.text.tokens import FUNCTION_WORDS
from openbrain.domain.text.unicode_ranges import IDEOGRAPH, character_class

SHORTEST_BEGINNING = 4
_ENDING = 3
_IDEOGRAPH = character_class(IDEOGRAPH)
_RUN = re.compile(rf"[{_IDEOGRAPH}]+|[^\W{_IDEOGRAPH}]+")
_IDEOGRAPHS = re.compile(rf"[{_IDEOGRAPH}]")


def words_of(text: str) -> frozenset[str]:
    """The words without stop words."""
    return frozenset(words_in(text.casefold())) - FUNCTION_WORDS


def words_in(text: str) -> Iterator[str]:
    """The words in their order. Where no spaces are written, as in Chinese, each pair of characters is a word: single
    ones occur in any text."""
    for run in _RUN.findall(text):
        if len(run) > 2 and _IDEOGRAPHS.match(run):
            yield from map("".join, pairwise(run))
        else:
            yield run


def searched_words(text: str) -> frozenset[str]:
    """The words that any `words_of` may have in common with a text."""
    words = set(words_in(text.casefold()))
    return frozenset(words.union(*(word for word in words if _IDEOGRAPHS.match(word))))


def spoken_text(memory: Memory) -> str:
    """All that a memory says and is called, as in the text index: title, content, speaker, aliases and tags."""
    return "\n".join((memory.title, memory.content, memory.speaker, *memory.aliases, *memory.tags))


def beginning(word: str) -> str:
    """The stem that a word's inflected forms begin with; '' for a short or unusual word, which must match exactly."""
    if len(word) < 5 or not word.isalpha():
        return ""
    return word[: max(SHORTEST_BEGINNING, len(word) - _ENDING)]


def held(words: frozenset[str], text: str) -> frozenset[str]:
    """The words that a text contains, exactly or as a word's beginning."""
    text = text.casefold()
    there = frozenset(_RUN.findall(text))
    # Words contain no spaces, so a match after a space begins a word.
    spaced = f" {' '.join(there)}"

    def holds(word: str) -> bool:
        if not word.isascii() and _IDEOGRAPHS.match(word):
            return word in text
        return word in there or bool((start := beginning(word)) and f" {start}" in spaced)

    return frozenset(filter(holds, words))
