"""Texts for the agents' client: bounded, and cut where it hurts least."""

from collections.abc import Sequence
from typing import Final

from openbrain.domain.text.displayed import plain

BODY_CHARS: Final = 1536
"""The client cuts longer bodies."""
PARTS: Final = 200
"""More lines than a body has room for."""


def clipped(text: str, most: int) -> str:
    """At most so many characters, cut between words where that loses little."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space >= most // 2 else cut).rstrip() + "…"


def first_line(text: str, most: int) -> str:
    """The first line that says something, clipped."""
    lines = text.strip().splitlines()
    return clipped(" ".join(lines[0].split()), most) if lines else ""


def fitted(parts: Sequence[str], between: str, what: str, head: str = "", *, more: int = 0) -> str:
    """The first parts, as many as fit; the last line says how many do not, with the `more` that were not given.

    '' where there is nothing to say. A model reads it: what nobody would see in a part stands as an escape.
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
