"""Splits a section into memories: unique headings, no text longer than a memory may be."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

from openbrain.domain import limits
from openbrain_cli.importers.found_memory import FoundMemory, clean, short
from openbrain_cli.importers.json_safe import that_fit
from openbrain_cli.importers.markdown.sections import pieces

PIECE_CHARS = 40_000
"""Leaves room for growth by Unicode normalisation."""


@dataclass(slots=True)
class Chunker:
    """Makes the memories of one file."""

    client: str
    path: str
    changed: datetime | None
    _taken: set[str] = field(default_factory=set)

    def chunks(self, heading: str, content: str, **filed: Any) -> Iterator[FoundMemory]:
        """Yield the section as one memory, or, if it is too long, as several that are numbered."""
        text = clean(content)
        parts = [text] if _fits(text) and text.strip() else pieces(text, PIECE_CHARS)
        details, _ = that_fit(filed.pop("details", {}))
        for number, part in enumerate(parts, 1):
            numbered = {"part": number, "parts": len(parts)} if len(parts) > 1 else {}
            yield FoundMemory(
                client=self.client,
                path=self.path,
                heading=self._unique(short(heading)),
                content=part,
                details={**details, **numbered},
                **filed,
            )

    def _unique(self, heading: str) -> str:
        names = (heading if number == 1 else f"{heading} ({number})".strip() for number in count(1))
        free = next(name for name in names if name not in self._taken)
        self._taken.add(free)
        return free


def _fits(text: str) -> bool:
    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    return max(len(text), len(normal)) <= limits.CONTENT_CHARS
