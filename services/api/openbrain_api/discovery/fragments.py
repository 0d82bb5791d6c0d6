"""Fragments of a long text around the words that were found. Pure: text is cut, never changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from openbrain.ports.index import Span

MOST = 3
CHARS = 200
_BEFORE = 60
_EDGE = 20
"""The distance by which a cut may move to fall between words."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """`text` is the content from `start` on; `matches` are spans within it. All in code points."""

    text: str
    start: int
    matches: tuple[Span, ...]


def fragments(content: str, spans: Sequence[Span]) -> list[Fragment]:
    """The first places where something was found, in order, none overlapping."""
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
    """The share of each text within `total`: the short ones whole, the long ones alike."""
    given = [0] * len(lengths)
    for left, index in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        given[index] = min(lengths[index], total // (len(lengths) - left))
        total -= given[index]
    return given


def _between(content: str, cut: int, *, upto: int) -> int:
    """The first place from `cut` on where no word is cut, if there is one near."""
    if cut == 0 or cut >= len(content):
        return cut
    for index in range(cut, min(upto, cut + _EDGE) + 1):
        if index == len(content) or content[index - 1].isspace() or content[index].isspace():
            return index
    return cut
