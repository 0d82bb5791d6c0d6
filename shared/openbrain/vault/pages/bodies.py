"""Texts of bounded length for the agents' client."""

from collections.abc import Sequence
from typing import Final

from openbrain.domain.text.displayed import plain

BODY_CHARS: Final = 1536
"""The client cuts longer bodies."""
PARTS: Final = 200
"""More parts than fit into a body."""


def clipped(text: str, most: int) -> str:
    """At most `most` characters, cut between words if that loses at most half."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space >= most // 2 else cut).rstrip() + "…"


def first_line(text: str, most: int) -> str:
    """The first non-empty line, clipped."""
    lines = text.strip().splitlines()
    return clipped(" ".join(lines[0].split()), most) if lines else ""


def fitted(parts: Sequence[str], between: str, what: str, head: str = "", *, more: int = 0) -> str:
    """Join as many of the first parts as fit; a last line counts those left out, plus `more` that were not passed.

    '' without parts. A model reads the result, so invisible characters are shown as escapes.
    """
    if not parts:
        return ""
    parts = [plain(part) for part in parts]

    def remainder(count: int) -> str:
        rest = len(parts) - count + more
        return f"{between}… and {rest} more {what}" if rest else ""

    for count in range(min(len(parts), BODY_CHARS), 0, -1):
        text = head + between.join(parts[:count]) + remainder(count)
        if len(text) <= BODY_CHARS:
            return text
    return head + clipped(parts[0], BODY_CHARS - len(head) - len(remainder(1))) + remainder(1)
