"""Additions to a page: under a heading, once, and never inside code."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from openbrain.domain.errors import Invalid
from openbrain.vault.markers.fences import Lines, Quoted

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and where its text ends: at the next heading that is not below it. Offsets in the body."""

    title: str
    level: int
    start: int
    body: int
    end: int
    inner: int
    """The start of the first heading below it; its end where there is none."""


def sections(body: str) -> list[Section]:
    """In order. `Invalid` where a code fence is never closed: what is behind it would be added to the code."""
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
        made.append(Section(heading[2], len(heading[1]), heading.start(), behind, end, min(inner, end)))
    return made


def add(body: str, title: str, text: Sequence[str], *, before: str = "", level: int = 2) -> str:
    """The lines `text` as the last of the first section with this title, in front of the headings below it. Where
    there is none it is made: before the section `before`, else at the end."""
    line_break = "\r\n" if "\r\n" in body else "\n"
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
    # A list goes on without a gap; text does not.
    between = line_break if there and there.rsplit("\n", 1)[-1].lstrip().startswith(("-", "<!--")) else line_break * 2
    head = body[:start] + (there + between if there else gap)
    tail = body[end:]
    return head + added + (line_break + tail if tail else "")
