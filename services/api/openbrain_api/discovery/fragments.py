"""Fragments of a long text around the matched words. Text is cut, never changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from openbrain.ports.index import Span

MOST = 3
CHARS = 200
_BEFORE = 60
_EDGE = 20
"""Characters by which a cut may move to fall between words."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """`text` is the part of the content that begins at `start`; `matches` are spans within it. In code points."""

    text: str
    start: int
    matches: tuple[Span, ...]


def fragments(content: str, spans: Sequence[Span]) -> list[Fragment]:
    """Fragments around the first matches, in order, none overlapping."""
    cuts: list[Fragment] = []
    end = 0
    for index, (first, _) in enumerate(spans):
        if first < end:
            continue
        if len(cuts) == MOST:
            break
        start = _between(content, max(end, first - _BEFORE), upto=first)
        end = _between(content, min(len(content), start + CHARS), upto=min(len(content), start + CHARS + _EDGE))
        inside = [span for span in spans[index:] if span[0] < end]
        matches = tuple((left - start, min(right, end) - start) for left, right in inside)
        cuts.append(Fragment(content[start:end], start, matches))
    return cuts


def shares(lengths: Sequence[int], total: int) -> list[int]:
    """Divide `total` among texts: short ones get their full length, long ones equal shares of the rest."""
    given = [0] * len(lengths)
    for left, index in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        given[index] = min(lengths[index], total // (len(lengths) - left))
        total -= given[index]
    return given


def _between(content: str, cut: int, *, upto: int) -> int:
    """The first word boundary from `cut` on, within `_EDGE` and `upto`; else `cut`."""
    if cut == 0 or cut >= len(content):
        return cut
    for index in range(cut, min(upto, cut + _EDGE) + 1):
        if index == len(content) or content[index - 1].isspace() or content[index].isspace():
            return index
    return cut
