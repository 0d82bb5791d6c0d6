"""A thought that is longer than a memory may be, as ordered parts that are one again when they are joined."""

from openbrain.domain import limits
from openbrain.domain.ids import transfer_id

PART, PARTS, WHOLE = "part", "parts", "partOf"
"""Members of the metadata of a part: its number from 1, how many there are, and a name that they share."""
MOST_PARTS = limits.THOUGHT_CHARS // (limits.CONTENT_CHARS // 2) + 1


def split(content: str) -> list[str]:
    """Together the content, each short enough for a memory; cut behind a line or a word where there is one."""
    texts, rest = [], content
    while len(rest) > limits.CONTENT_CHARS:
        half = limits.CONTENT_CHARS // 2
        window = rest[: limits.CONTENT_CHARS]
        cut = max(window.rfind("\n", half), window.rfind(" ", half)) + 1 or limits.CONTENT_CHARS
        texts.append(rest[:cut])
        rest = rest[cut:]
    return [*texts, rest]


def part_id(first_id: str, number: int) -> str:
    """The id of a part, where the first one has this id."""
    return first_id if number == 1 else transfer_id(str(number), first_id)
