"""Finds the queries that have all their words in a text."""

from collections import Counter, defaultdict
from collections.abc import Collection

from openbrain.domain.text.words import beginning, searched_words, words_of


class Phrases:
    """Index of query numbers by their words. A word that may be inflected matches by its beginning."""

    def __init__(self) -> None:
        self._whole: defaultdict[str, set[int]] = defaultdict(set)
        self._prefixes: defaultdict[str, set[int]] = defaultdict(set)
        self._needed: dict[int, int] = {}
        self._lengths: frozenset[int] | None = None
        """Cache: the lengths of the prefixes."""

    def add(self, number: int, query: str) -> None:
        """Add a query. Without meaningful words it is never found."""
        keys = _keys(query)
        for key, is_prefix in keys:
            (self._prefixes if is_prefix else self._whole)[key].add(number)
        self._needed[number] = len(keys)
        self._lengths = None

    def remove(self, number: int, query: str) -> None:
        """Remove a query; `query` must be the text that was added."""
        for key, is_prefix in _keys(query):
            places = self._prefixes if is_prefix else self._whole
            places[key].discard(number)
            if not places[key]:
                del places[key]
        self._needed.pop(number, None)
        self._lengths = None

    def held_by(self, text: str) -> Collection[int]:
        """Numbers of the queries all of whose words occur in the text."""
        words = searched_words(text)
        counts: Counter[int] = Counter()
        for word in words & self._whole.keys():
            counts.update(self._whole[word])
        # Only the lengths that there are: all beginnings of one word of 50,000 characters would take a gigabyte.
        lengths = self._prefix_lengths()
        beginnings = {word[:length] for word in words for length in lengths if length <= len(word)}
        for start in beginnings & self._prefixes.keys():
            counts.update(self._prefixes[start])
        return [number for number, count in counts.items() if count == self._needed[number]]

    def _prefix_lengths(self) -> frozenset[int]:
        if self._lengths is None:
            self._lengths = frozenset(map(len, self._prefixes))
        return self._lengths


def _keys(query: str) -> frozenset[tuple[str, bool]]:
    return frozenset((beginning(word) or word, bool(beginning(word))) for word in words_of(query))
