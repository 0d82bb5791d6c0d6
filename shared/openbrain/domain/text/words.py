"""The content words of a text, and whether another text contains them."""

import re

from openbrain.domain.memory import Memory
from openbrain.domain.text.tokens import FUNCTION_WORDS

WORD = re.compile(r"\w+")
SHORTEST_BEGINNING = 4
_ENDING = 3


def words_of(text: str) -> frozenset[str]:
    """The words without stop words."""
    return frozenset(WORD.findall(text.casefold())) - FUNCTION_WORDS


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
    there = frozenset(WORD.findall(text.casefold()))
    # Words contain no spaces, so a match after a space begins a word.
    spaced = f" {' '.join(there)}"
    return frozenset(word for word in words if word in there or ((start := beginning(word)) and f" {start}" in spaced))
