"""Values found in a vault's files."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read: the file, its line (1-based; 0: the whole file) and what to change."""

    path: str
    line: int
    reason: str
    hides: bool = False
    """True if pages may exist that were not read, because their folder or their name can't be."""


@dataclass(frozen=True, slots=True)
class Marker:
    """An annotation in a page, `<!-- @type key=value -->`.

    Lines are 1-based in the file. `start` and `end` are offsets into the parsed text, from the opening mark to the end
    of the closing one. A block's content is the text between its marks, stripped; an inline marker has none.
    """

    type: str
    attrs: Mapping[str, str]
    content: str = ""
    line_start: int = 1
    line_end: int = 1
    block: bool = False
    start: int = 0
    end: int = 0

    @property
    def identity(self) -> tuple[str, Mapping[str, str], str]:
        """Type, attributes and content, without its place in the page."""
        return self.type, self.attrs, self.content
