"""Finds names in a question: as phrases of stems, with a typo allowed in longer words.

A word matches a word of a name if their stems are equal. From five letters on one edit is allowed, in the word or in
its stem, but not in the first two letters.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tantivy import TextAnalyzer

from openbrain.adapters.indexes.edit_distance import near
from openbrain.adapters.tantivy.documents import english
from openbrain.adapters.tantivy.highlights import words_of

FORGIVEN = 5
"""Minimum letters of a name's word for which one edit is allowed."""
SURE = 2
"""Number of first letters that must be right."""


class _Word(NamedTuple):
    """A word: its stem, and its form in lower case."""

    stem: str
    form: str
    position: int


def name_keys(names: Iterable[str], analyzer: TextAnalyzer) -> list[str]:
    """Return the keys by which an index finds memories whose names may be in a question: those of each name's first
    word."""
    firsts = (words[0] for name in names if (words := _words(name, analyzer)))
    return sorted({key for word in firsts for key in _keys(word)})


def question_keys(question: str, analyzer: TextAnalyzer) -> list[str]:
    """Return the question's keys. At least one of them is among the keys of every name in the question."""
    return sorted({key for word in _words(question, analyzer) for key in _keys(word)})


def hold_names(question: str, names: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each memory's names whether one is in the question. A name without indexed words never is."""
    analyzer = english()
    words = {word.position: word for word in _words(question, analyzer)}
    places: defaultdict[str, set[int]] = defaultdict(set)
    for word in words.values():
        for key in _keys(word):
            places[key].add(word.position)
    return [any(_stands(_words(name, analyzer), words, places) for name in several) for several in names]


def _stands(name: Sequence[_Word], words: Mapping[int, _Word], places: Mapping[str, Collection[int]]) -> bool:
    # Compared only where its first word shares a key: a long question with many names would take seconds.
    starts = {start for item in name[:1] for key in _keys(item) for start in places.get(key, ())}
    return any(
        all(
            (there := words.get(start + item.position - name[0].position)) is not None and _meant(there, item)
            for item in name
        )
        for start in starts
    )


def _meant(word: _Word, name: _Word) -> bool:
    if word.stem == name.stem:
        return True
    return any(
        len(wanted) >= FORGIVEN and written[:SURE] == wanted[:SURE] and near(written, wanted, 1)
        for written, wanted in ((word.stem, name.stem), (word.form, name.form))
    )


def _keys(word: _Word) -> Iterator[str]:
    """Yield the stem and, for longer words, each form with and without each single letter: two words within one edit
    are equal once a letter is removed from each, or from the longer one."""
    yield word.stem
    for form in {word.stem, word.form}:
        if len(form) >= FORGIVEN - 1:
            yield form
            for place in range(SURE, len(form)):
                yield form[:place] + form[place + 1 :]


def _words(text: str, analyzer: TextAnalyzer) -> list[_Word]:
    return [_Word(item.stem, text[item.start : item.end].lower(), item.position) for item in words_of(text, analyzer)]
