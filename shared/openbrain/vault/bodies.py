"""Texts for the agents' client: bounded, and cut where it hurts least."""

from collections.abc import Iterable
from typing import Final

BODY_CHARS: Final = 1536
"""The client cuts longer bodies."""


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


def fitted(parts: Iterable[str], between: str, what: str, head: str = "") -> str:
    """The first parts, as many as fit; the last line says how many do not. '' where there is nothing to say."""
    parts = list(parts)
    if not parts:
        return ""
    whole = head + between.join(parts)
    if len(whole) <= BODY_CHARS:
        return whole
    for count in range(min(len(parts) - 1, BODY_CHARS), 0, -1):
        text = f"{head}{between.join(parts[:count])}{between}… and {len(parts) - count} more {what}"
        if len(text) <= BODY_CHARS:
            return text
    rest = f"{between}… and {len(parts) - 1} more {what}" if len(parts) > 1 else ""
    return head + clipped(parts[0], BODY_CHARS - len(head) - len(rest)) + rest
