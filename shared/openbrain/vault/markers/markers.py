"""Markers in a page: `<!-- @type key=value key="a value" -->`, alone or closed by `<!-- @/type -->`.

What can't be read is reported with its line. Nested markers are read too; markers in quoted code are not.
"""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from openbrain.domain.errors import Conflict, Invalid
from openbrain.vault import limits
from openbrain.vault.markers.fences import Lines, Quoted
from openbrain.vault.values import Marker, Problem

# These types need content: one that is never closed is reported.
CLOSED_TYPES = frozenset({"lesson", "signal", "decision", "milestone", "inject", "todo"})

_OPENING = re.compile(r"<!--\s*@")
_PAIR = re.compile(r"\s+([A-Za-z0-9_]+)=(?:\"([^\"]*)\"|([\w./:+@-]+))")
_MARK = re.compile(r"<!--\s*@(?:(/?)([A-Za-z0-9_]+)((?:\s+[A-Za-z0-9_]+=(?:\"[^\"]*\"|[\w./:+@-]+))*)\s*-->)?")
"""Matches a whole mark in the usual form; of any other only its opening, and `_tag` reads the rest piece by piece."""
_NAME = re.compile(r"(/?)([A-Za-z0-9_]+)(?=\s|-->)")
_KEY = re.compile(r"\s+([A-Za-z0-9_]+)=")
_BARE = re.compile(r"([^\s>\"']|(?<!=)')+?(?=\s|-->)")
_END = re.compile(r"\s*-->")
_SAFE = re.compile(r"[^\s>\"']+")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The markers of a text in the order of their opening marks, and what could not be read."""

    markers: tuple[Marker, ...]
    problems: tuple[Problem, ...]


class _Tag(NamedTuple):
    name: str
    closes: bool
    attrs: dict[str, str]
    start: int
    end: int
    broken: bool = False


@dataclass(slots=True)
class _Reading:
    text: str
    path: str
    first_line: int
    lines: Lines
    problems: list[Problem] = field(default_factory=list)
    found: list[list[Any]] = field(default_factory=list)
    """The fields of each marker, in the order of `Marker`."""
    # Open marks: the tag and its index in `found` (None: the tag itself could not be read).
    stack: list[tuple[_Tag, int | None]] = field(default_factory=list)
    open_names: dict[str, int] = field(default_factory=dict)
    depth: int = 0  # number of stack entries that are in `found`
    counted: tuple[int, int] = (0, 0)  # the last offset and its line

    def line(self, offset: int) -> int:
        """The line of an offset in the file. Offsets nearly always increase, so it counts on from the last one."""
        last, line = self.counted
        if offset < last:
            return self.lines.at(offset) + self.first_line
        line += self.text.count("\n", last, offset)
        self.counted = offset, line
        return line + self.first_line

    def report(self, offset: int, reason: str) -> None:
        if len(self.problems) < limits.PROBLEMS:
            self.problems.append(Problem(self.path, self.line(offset), reason))


def parse(body: str, path: str, first_line: int = 1) -> Parsed:
    """All markers of a body that begins in line `first_line` of its file."""
    if "<!--" not in body:
        return Parsed((), ())
    if (plain := _plainly_marked(body, first_line)) is not None:
        return Parsed(plain, ())
    reading = _Reading(body, path, first_line, Lines(body))
    quoted = Quoted(reading.lines)
    at, hidden, seen = 0, 0, 0
    while (opening := _MARK.search(body, at)) is not None:
        at, seen = opening.start(1) if opening[2] else opening.end(), seen + 1
        if len(reading.found) >= limits.MARKERS or seen > 3 * limits.MARKERS:
            reading.problems.append(
                Problem(path, reading.line(opening.start()), f"more than {limits.MARKERS} markers: split the page")
            )
            break
        if quoted.holds(opening.start()):
            hidden += quoted.unclosed is not None and reading.lines.at(opening.start()) >= quoted.unclosed
            continue
        tag = _tag(reading, opening, at)
        if tag is None:
            continue
        at = tag.end
        _close(reading, tag) if tag.closes else _open(reading, tag)
    while reading.stack:
        _leave_open(reading)
    if hidden and quoted.unclosed is not None:
        reading.report(
            reading.lines.starts[quoted.unclosed],
            f"a code fence that nothing closes hides {hidden} marks behind it: close the fence",
        )
    reading.problems.sort(key=lambda problem: problem.line)
    return Parsed(tuple(Marker(*fields) for fields in reading.found), tuple(reading.problems))


def _plainly_marked(body: str, first_line: int) -> tuple[Marker, ...] | None:
    """Fast path for most pages: the markers of a body without quoted code or problems; None for any other body."""
    if "`" in body or "~~~" in body:
        return None
    marked: list[list[Any]] = []
    opened: list[tuple[str, int]] = []
    line, counted = first_line, 0
    for mark in _MARK.finditer(body):
        slash, name, attributes = mark.groups()
        start, end = mark.span()
        if not name or body.find("\n", start, end) >= 0:
            return None
        line += body.count("\n", counted, start)
        counted = start
        if not slash:
            pairs = _PAIR.findall(attributes) if attributes else ()
            attrs = {key: quoted or bare for key, quoted, bare in pairs}
            if len(attrs) != len(pairs) or len(marked) == limits.MARKERS:
                return None
            opened.append((name, len(marked)))
            marked.append([name, attrs, "", line, line, False, start, end])
            continue
        while opened and opened[-1][0] != name:
            if opened.pop()[0] in CLOSED_TYPES:
                return None
        if attributes or not opened or len(opened) > limits.MARKER_DEPTH:
            return None
        kept = marked[opened.pop()[1]]
        kept[2], kept[4], kept[5], kept[7] = body[kept[7] : start].strip(), line, True, end
    if any(name in CLOSED_TYPES for name, _ in opened):
        return None
    return tuple([Marker(*fields) for fields in marked])


def _tag(reading: _Reading, opening: re.Match[str], at: int) -> _Tag | None:
    """The mark at `opening`, whose name begins at `at`. None, and a problem reported, if its name can't be read."""
    text, start = reading.text, opening.start()
    slash, name, attributes = opening.groups()
    if name:
        pairs = _PAIR.findall(attributes) if attributes else ()
        given = {key: quoted or bare for key, quoted, bare in pairs}
        if len(given) == len(pairs) and not (slash and given):
            return _Tag(name, bool(slash), given, start, opening.end())
    named = _NAME.match(text, at)
    if named is None:
        reading.report(start, "a marker's name is letters, digits and _, followed by a space or -->")
        return None
    closes, name, at = bool(named[1]), named[2], named.end()
    attrs: dict[str, str] = {}
    while (end := _END.match(text, at)) is None:
        key = _KEY.match(text, at)
        value = _value(text, key.end()) if key else None
        if key is None or value is None or key[1] in attrs:
            reading.report(start, f"@{name}: {_why(key, attrs)}")
            # Continue right after the name: the rest may contain another marker.
            return _Tag(name, closes, {}, start, at, broken=True)
        attrs[key[1]], at = value
    if closes and attrs:
        reading.report(start, f"@/{name}: a closing mark takes no attributes")
    return _Tag(name, closes, attrs, start, end.end())


def _value(text: str, at: int) -> tuple[str, int] | None:
    if text.startswith('"', at):
        end = text.find('"', at + 1)
        return None if end < 0 else (text[at + 1 : end], end + 1)
    bare = _BARE.match(text, at)
    return None if bare is None else (bare[0], bare.end())


def _why(key: re.Match[str] | None, attrs: dict[str, str]) -> str:
    if key is None:
        return "attributes are key=value, with keys of letters, digits and _, and --> closes the mark"
    if key[1] in attrs:
        return f"{key[1]} is given twice"
    return f'{key[1]}: put the value in double quotes: {key[1]}="..."'


def _open(reading: _Reading, tag: _Tag) -> None:
    place: int | None = None
    if not tag.broken:
        place = len(reading.found)
        lines = reading.line(tag.start), reading.line(tag.end - 1)
        reading.found.append([tag.name, tag.attrs, "", *lines, False, tag.start, tag.end])
    reading.stack.append((tag, place))
    reading.depth += place is not None
    reading.open_names[tag.name] = reading.open_names.get(tag.name, 0) + 1


def _close(reading: _Reading, tag: _Tag) -> None:
    if not reading.open_names.get(tag.name):
        reading.report(tag.start, f"@/{tag.name} closes nothing")
        return
    while reading.stack[-1][0].name != tag.name:
        _leave_open(reading)
    opened, place = _pop(reading)
    if place is None:
        return
    if reading.depth >= limits.MARKER_DEPTH:
        reading.report(
            opened.start, f"@{tag.name} is nested in {limits.MARKER_DEPTH} or more others: its content is not read"
        )
        return
    content = reading.text[opened.end : tag.start].strip()
    kept = reading.found[place]
    kept[2], kept[4], kept[5], kept[7] = content, reading.line(tag.end - 1), True, tag.end


def _pop(reading: _Reading) -> tuple[_Tag, int | None]:
    tag, place = reading.stack.pop()
    reading.open_names[tag.name] -= 1
    reading.depth -= place is not None
    return tag, place


def _leave_open(reading: _Reading) -> None:
    tag, place = _pop(reading)
    if place is not None and tag.name in CLOSED_TYPES:
        reading.report(tag.start, f"@{tag.name} is never closed: write <!-- @/{tag.name} --> behind its content")


def render(marker: Marker) -> str:
    """The marker as text that `parse` turns back into its type, attributes and content. Invalid if there is none."""
    attrs = "".join(f" {key}={_quoted(value)}" for key, value in marker.attrs.items())
    text = f"<!-- @{marker.type}{attrs} -->"
    if marker.block:
        text += f"\n{marker.content}\n<!-- @/{marker.type} -->"
    again = parse(text, "").markers
    if not again or (again[0].identity, again[0].end) != (marker.identity, len(text)):
        raise Invalid("marker", f"@{marker.type} can't be written so that it parses back: check for quotes and marks")
    return text


def _quoted(value: str) -> str:
    return value if _SAFE.fullmatch(value) and "--" not in value else f'"{value}"'


def replaced(text: str, marker: Marker, new: str) -> str:
    """Replace `marker` by `new` in the text that it was parsed from. Conflict if the marker is not there."""
    here = parse(text[marker.start : marker.end], "").markers
    if not here or (here[0].start, here[0].end, here[0].identity) != (0, marker.end - marker.start, marker.identity):
        raise Conflict(f"@{marker.type} is no longer in line {marker.line_start}: read the page again")
    return text[: marker.start] + new + text[marker.end :]


def without_markers(text: str) -> str:
    """Remove the marks and keep the text that they enclose. Marks in quoted code stay."""
    if "<!--" not in text:
        return text
    quoted = Quoted(Lines(text))
    kept, at = [], 0
    while (opening := _OPENING.search(text, at)) is not None:
        end = text.find("-->", opening.end())
        if end < 0:
            break
        kept.append(text[at : opening.start()] if not quoted.holds(opening.start()) else text[at : end + 3])
        at = end + 3
    kept.append(text[at:])
    return "".join(kept)


def contained(content: str) -> str:
    """Make foreign text safe as a marker's content: it can't open or close a marker, or hide later text in a fence."""
    text = _OPENING.sub(lambda match: "&lt;" + match[0][1:], content).strip()
    unclosed = Quoted(Lines(text + "\n")).unclosed
    if unclosed is not None:
        marks = re.search(r"`{3,}|~{3,}", text.split("\n")[unclosed])
        text += "\n" + (marks[0] if marks else "```")
    return text
