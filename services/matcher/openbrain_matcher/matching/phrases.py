"""Finds the queries whose words all occur in a text."""

from collections import Counter, defaultdict
from collections.abc import Collection

from openbrain.domain.text.words import SHORTEST_BEGINNING, WORD, beginning, words_of


class Phrases:
    """An index of queries (by number) over their words. A word that may be inflected is matched by its prefix."""

    def __init__(self) -> None:
        self._words: defaultdict[str, set[int]] = defaultdict(set)
        self._prefixes: defaultdict[str, set[int]] = defaultdict(set)
        self._needed: dict[int, int] = {}

    def add(self, number: int, query: str) -> None:
        """Add a query. One without significant words is never found."""
        keys = _keys(query)
        for key, is_prefix in keys:
            (self._prefixes if is_prefix else self._words)[key].add(number)
        self._needed[number] = len(keys)

    def remove(self, number: int, query: str) -> None:
        """Remove a query; `query` must be the text that was added."""
        for key, is_prefix in _keys(query):
            places = self._prefixes if is_prefix else self._words
            places[key].discard(number)
            if not places[key]:
                del places[key]
        self._needed.pop(number, None)

    def held_by(self, text: str) -> Collection[int]:
        """Numbers of the queries whose words all occur in the text."""
        words = frozenset(WORD.findall(text.casefold()))
        counts: Counter[int] = Counter()
        for word in words & self._words.keys():
            counts.update(self._words[word])
        beginnings = {word[:end] for word in words for end in range(SHORTEST_BEGINNING, len(word) + 1)}
        for start in beginnings & self._prefixes.keys():
            counts.update(self._prefixes[start])
        return [number for number, count in counts.items() if count == self._needed[number]]


def _keys(query: str) -> frozenset[tuple[str, bool]]:
    return frozenset((beginning(word) or word, bool(beginning(word))) for word in words_of(query))
