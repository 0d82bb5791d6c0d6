"""Splits a thought that exceeds the length of a memory into ordered parts, which join to the original."""

from collections.abc import Sequence

from openbrain.domain import limits
from openbrain.domain.errors import Invalid
from openbrain.domain.ids import transfer_id

PART, PARTS, WHOLE = "part", "parts", "partOf"
"""Metadata of a part: its number from 1, the number of parts, and their common name."""
MOST_PARTS = limits.THOUGHT_CHARS // (limits.CONTENT_CHARS // 2) + 1


def split(content: str, together: Sequence[tuple[int, int]] = ()) -> list[str]:
    """Split the content into parts that fit a memory, after a line or a word where possible, and outside the ranges
    `together` (from, to). Joined they give the content. Raise `Invalid` if a part would be blank, which no memory may
    be."""
    texts, rest, at = [], content, 0
    while len(rest) > limits.CONTENT_CHARS:
        half = limits.CONTENT_CHARS // 2
        window = rest[: limits.CONTENT_CHARS]
        cut = max(window.rfind("\n", half), window.rfind(" ", half)) + 1 or limits.CONTENT_CHARS
        first, last = len(rest) - len(rest.lstrip()), len(rest.rstrip()) - 1
        cut = min(max(cut, first + 1), last, limits.CONTENT_CHARS)
        if cut <= first:
            raise Invalid("content", f"must have at most {half} white-space characters in a row")
        earlier = at + cut
        while inside := [begin for begin, end in together if begin < earlier < end]:
            earlier = min(inside)
        if earlier - at > first:
            cut = earlier - at
        texts.append(rest[:cut])
        rest, at = rest[cut:], at + cut
    return [*texts, rest]


def part_id(first_id: str, number: int) -> str:
    """Return the id of a part, given the id of the first."""
    return first_id if number == 1 else transfer_id(str(number), first_id)
