"""Finds the words of a query in the caller's texts, with the English analysis that both text indexes use."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from tantivy import TextAnalyzer

from openbrain.adapters.indexes.edit_distance import allowed, near
from openbrain.adapters.tantivy.documents import english, spaced
from openbrain.ports.index import FUZZY_WORDS, Span, TextQuery


class Word(NamedTuple):
    """An indexed word, and its place in the text."""

    stem: str
    position: int
    start: int
    end: int


class Phrase(NamedTuple):
    """Stems with their distance from the first; stop words leave gaps."""

    parts: tuple[tuple[int, str], ...]


def words_of(text: str, analyzer: TextAnalyzer) -> list[Word]:
    """Return the indexed words of a text; offsets in code points."""
    text = text.encode(errors="replace").decode()  # replaces lone surrogates one by one
    tokens = analyzer.pre_tokenize(spaced(text)).tokens
    if text.isascii():
        return [Word(token.text, token.position, token.char_offset_from, token.char_offset_to) for token in tokens]
    # The tokenizer gets the text with spaces around ideographs: map its offsets back.
    origin = [index for index, letter in enumerate(text) for _ in spaced(letter)]
    return [
        Word(token.text, token.position, origin[token.char_offset_from], origin[token.char_offset_to - 1] + 1)
        for token in tokens
    ]


def phrase_of(text: str, analyzer: TextAnalyzer) -> Phrase | None:
    """Return the analyzed phrase; None if it contains no indexed word."""
    words = words_of(text, analyzer)
    return Phrase(tuple((word.position - words[0].position, word.stem) for word in words)) if words else None


class Marker:
    """Finds the matches of queries in texts; the analyzer is created on first use."""

    @cached_property
    def _analyzer(self) -> TextAnalyzer:
        return english()

    def marks(self, query: TextQuery, texts: Sequence[str]) -> list[list[Span]]:
        """Return the spans in each text, in order; overlapping spans are joined."""
        stems = list(dict.fromkeys(item.stem for item in words_of(query.words, self._analyzer)))
        phrases = [analyzed for phrase in query.phrases if (analyzed := phrase_of(phrase, self._analyzer)) is not None]
        fuzzy = {stem: allowed(stem) for stem in stems[:FUZZY_WORDS]} if query.fuzzy else {}
        known = dict.fromkeys(stems, True)

        def meant(stem: str) -> bool:
            if stem not in known:
                known[stem] = any(most and near(word, stem, most) for word, most in fuzzy.items())
            return known[stem]

        marked = []
        for text in texts:
            words = words_of(text, self._analyzer)
            spans = [(item.start, item.end) for item in words if meant(item.stem)]
            marked.append(_joined([*spans, *_phrases(words, phrases)]))
        return marked

    def indexed(self, phrase: str) -> bool:
        """True if the phrase contains an indexed word; stop words are not indexed."""
        return phrase_of(phrase, self._analyzer) is not None


def _phrases(words: Sequence[Word], phrases: Sequence[Phrase]) -> Iterator[Span]:
    if not phrases:
        return
    at = {word.position: word for word in words}
    for phrase in phrases:
        (_, first), *_ = phrase.parts
        last, _ = phrase.parts[-1]
        for word in words:
            if word.stem == first and all(
                (there := at.get(word.position + offset)) is not None and there.stem == stem
                for offset, stem in phrase.parts
            ):
                yield word.start, at[word.position + last].end


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
