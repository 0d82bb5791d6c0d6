"""Splits a text into model inputs: overlapping passages with prompt and header, none longer than the model's window.

Passages end at a paragraph, line, sentence or at least a word, if there is such a place in the last third.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

from openbrain.adapters.embedding import wordpiece
from openbrain.adapters.embedding.models import Model

PASSAGE_TOKENS = 512
"""Maximum tokens of a passage, even if the model reads more: one vector of a long text represents each part poorly."""
OVERLAP = 0.15
SPECIAL_TOKENS = 2

_RUN = r"[^\s!-/:-@\[-`{-~]"
_PIECE = re.compile(r"\w{1,24}|\s{1,24}|[^\w\s]")
_SENTENCE_ENDS = ".!?…:;"
_WIDE_SENTENCE_ENDS = "。！？"  # noqa: RUF001 - full-width on purpose


def passages(text: str, header: str, model: Model) -> list[str]:
    """Return all inputs of a document, in order; one for a short text. A header is cut at half of the window."""
    room = _room(model)
    header = _clip(break_words(header, model.word_chars), room // 2, model)
    text = break_words(text, model.word_chars)
    prefix = f"{model.document_prompt}{header} " if header else model.document_prompt
    if _surely_fits(f"{header} {text}", room):
        return [prefix + text]
    return [prefix + piece for piece in _pieces(text, room - _tokens(header, model), model)]


def break_words(text: str, longest: int) -> str:
    """Insert a space after every `longest` characters of a longer word (ASCII punctuation ends a word)."""
    return re.sub(f"({_RUN}{{{longest}}})(?={_RUN})", r"\1 ", text)


def count_tokens(text: str, model: Model) -> int:
    """Count the tokens of an input, special ones included: exact for WordPiece models, else a generous estimate."""
    return SPECIAL_TOKENS + _tokens(text, model)


@cache
def _room(model: Model) -> int:
    """Return the number of tokens for header and text."""
    return min(model.token_limit, PASSAGE_TOKENS) - SPECIAL_TOKENS - _tokens(model.document_prompt, model)


def _surely_fits(text: str, room: int) -> bool:
    """True if the text has at most `room` bytes. No text has more tokens than bytes, so most need no counting."""
    return len(text.encode()) <= room


def _tokens(text: str, model: Model) -> int:
    return sum(_words(text, model)[1])


def _words(text: str, model: Model) -> tuple[Sequence[int], Sequence[int]]:
    """Return start and token count of each unit of the text that is never split."""
    if model.wordpiece:
        return wordpiece.words(text)
    words = [(match.start(), _estimate(match.group())) for match in _PIECE.finditer(text)]
    return [start for start, _ in words], [count for _, count in words]


def _estimate(piece: str) -> int:
    """Estimate: a token for three ASCII letters, for each digit, sign or other character; 4 for each rare one."""
    if piece.isspace():
        return len(piece) - 1
    if piece.isascii():
        digits = sum(character.isdigit() for character in piece)
        return digits + -(-(len(piece) - digits) // 3)
    return sum(4 if character > "\uffff" else 1 for character in piece)


def _clip(header: str, room: int, model: Model) -> str:
    if _surely_fits(header, room):
        return header
    starts, counts = _words(header, model)
    fitting = bisect_right(list(accumulate(counts)), room)
    return header if fitting == len(starts) else header[: starts[fitting]].rstrip()


def _pieces(text: str, room: int, model: Model) -> Iterator[str]:
    starts, counts = _words(text, model)
    edges = [0, *starts[1:], len(text)]
    before = [0, *accumulate(counts)]
    for first, end in _windows(text, edges, before, room):
        yield text[edges[first] : edges[end]]


def _windows(text: str, edges: Sequence[int], before: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of words. edges[i] is where word i starts in the text, before[i] the number of tokens before it."""
    first, words = 0, len(before) - 1
    while before[words] - before[first] > room:
        furthest = max(first + 1, bisect_right(before, before[first] + room) - 1)
        nearest = bisect_left(before, before[first] + room * 2 // 3, first + 1, furthest)
        end = max(range(nearest, furthest + 1), key=lambda word: (_boundary(text, edges[word]), word))
        yield first, end
        back = bisect_left(before, before[end] - int(room * OVERLAP), first + 1, end)
        first = max(range(back, end), key=lambda word: (_boundary(text, edges[word]), -word), default=end)
    yield first, max(words, 1)


def _boundary(text: str, at: int) -> int:
    """Rank a place to split: 4 end of a paragraph, 3 of a line, 2 of a sentence, 1 of a word, 0 none."""
    before = text[max(0, at - 8) : at]
    words = before.rstrip()
    gap = before[len(words) :]
    if "\n" in gap:
        return 4 if gap.count("\n") > 1 else 3
    if words.endswith(tuple(_WIDE_SENTENCE_ENDS)) or (gap and words.endswith(tuple(_SENTENCE_ENDS))):
        return 2
    return 1 if gap else 0
