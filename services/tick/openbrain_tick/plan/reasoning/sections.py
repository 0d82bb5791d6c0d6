"""Adds text to a page under a heading, never inside code."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from openbrain.domain.errors import Invalid
from openbrain.vault.markers.fences import Lines, Quoted, line_break_of

_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the range of its text, which ends at the next heading of the same or a higher level. Offsets in
    the body."""

    title: str
    level: int
    start: int
    body: int
    end: int
    inner: int
    """The start of its first subheading; `end` if there is none."""


def sections(body: str) -> list[Section]:
    """The sections in order. `Invalid` if a code fence is never closed: added text could become part of the code."""
    lines = Lines(body)
    quoted = Quoted(lines)
    if quoted.unclosed is not None:
        raise Invalid("page", f"a code fence in line {quoted.unclosed + 1} of the text is never closed: close it")
    headings = [match for match in _HEADING.finditer(body) if not quoted.holds(match.start())]
    made = []
    for number, heading in enumerate(headings):
        later = headings[number + 1 :]
        end = next((other.start() for other in later if len(other[1]) <= len(heading[1])), len(body))
        inner = later[0].start() if later else end
        behind = lines.end(lines.at(heading.start()))
        title = heading[2].rstrip(" \t\r").rstrip("#").rstrip(" \t")
        made.append(Section(title, len(heading[1]), heading.start(), behind, end, min(inner, end)))
    return made


def add(body: str, title: str, text: Sequence[str], *, before: str = "", level: int = 2) -> str:
    """Add the lines `text` at the end of the first section with this title, before its subheadings. If there is none,
    create it before the section `before`, or at the end."""
    line_break = line_break_of(body)
    there = sections(body)
    added = line_break.join(text) + line_break
    section = next((item for item in there if item.title == title), None)
    if section is not None:
        return _put(body, section.body, section.inner, added, line_break)
    at = next((item.start for item in there if before and item.title == before), len(body))
    head, tail = body[:at].rstrip("\r\n"), body[at:]
    heading = f"{'#' * level} {title}{line_break}{line_break}"
    joined = f"{head}{line_break * 2}" if head else ""
    return f"{joined}{heading}{added}{line_break if tail else ''}{tail}"


def _put(body: str, start: int, end: int, added: str, line_break: str) -> str:
    there = body[start:end].rstrip()
    gap = line_break if body[:start].endswith(("\n", "\r")) else line_break * 2
    # No blank line within a list; one after other text.
    between = line_break if there and there.rsplit("\n", 1)[-1].lstrip().startswith(("-", "<!--")) else line_break * 2
    head = body[:start] + (there + between if there else gap)
    tail = body[end:]
    return head + added + (line_break + tail if tail else "")
