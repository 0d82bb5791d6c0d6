"""Compares a vault's lessons, decisions and milestones with the memories made from them: new, edited, moved, gone.
Pure."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from heapq import nlargest
from typing import Final

from openbrain.domain import limits
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import Memory
from openbrain.domain.times import from_iso
from openbrain.ports.store.vault import VaultMemory
from openbrain.vault.markers.fences import Lines, Quoted
from openbrain.vault.markers.kinds import MEMORY_TYPES
from openbrain.vault.markers.markers import without_markers
from openbrain.vault.markers.redaction import quotable_line, redacted
from openbrain.vault.pages.arcs import Arc, markers_of
from openbrain.vault.values import Problem

SOURCE: Final = "vault:"
"""Prefix of the source of a memory that the tick made from a marker; the arc follows."""
_ALIKE: Final = 0.5
_COMPARED: Final = 2_000
_NEAREST: Final = 2
_CONFLICT = re.compile(r"^(?:<<<<<<<|>>>>>>>) ", re.MULTILINE)
_NAMES = re.compile("|".join(f'"{name}"' for name in MEMORY_TYPES))


@dataclass(frozen=True, kw_only=True)
class Marked:
    """A marker that becomes a memory."""

    arc: str
    type: str
    """Type of the marker."""
    content: str
    project: str
    session: str
    """The session named by the marker; '' if none."""
    occurred_at: int
    """Microseconds."""
    given_id: str
    """The marker's own `id`, which identifies it however it is edited; '' if none."""

    @cached_property
    def content_hash(self) -> str:
        return joined_hash(self.type, self.content)

    @property
    def source(self) -> str:
        return f"{SOURCE}{self.arc}"[: limits.SOURCE_CHARS]


@dataclass(frozen=True, slots=True)
class Pages:
    """All markers of a vault, and the arcs that may contain further ones."""

    marked: tuple[Marked, ...]
    unsure: frozenset[str]
    """Arcs with problems or unfit markers, and files that could not be read: markers not found there may still
    exist."""
    problems: tuple[Problem, ...]
    known: frozenset[str] | None = None
    """All arcs, if a folder was not read completely: every other arc may be there. None: everything was read."""

    def may_hold(self, arc: str) -> bool:
        """True if markers of this arc may exist although they were not found."""
        return arc in self.unsure or (self.known is not None and arc not in self.known)


@dataclass(slots=True)
class Comparison:
    """The current markers compared with the rows of the last tick."""

    moved: list[tuple[VaultMemory, Marked]] = field(default_factory=list)
    """Markers that were in another arc before (merged or renamed)."""
    new: list[Marked] = field(default_factory=list)
    gone: list[VaultMemory] = field(default_factory=list)


def digest(pages: Iterable[Arc], problems: Iterable[Problem]) -> str:
    """A hash of the pages that have markers or problems, and of the paths in `problems`."""
    total = hashlib.sha256()
    for arc in sorted(pages, key=lambda item: item.path):
        if not arc.merged and (arc.problem_count or _is_marked(arc)):
            total.update(f"{arc.path}\0{arc.project}\0{arc.created_us}\0{arc.detail}\0".encode())
    for problem in sorted(problems, key=lambda item: (item.path, item.line)):
        total.update(f"{problem.path}\0".encode())
    return total.hexdigest()


def _is_marked(arc: Arc) -> bool:
    return _NAMES.search(arc.detail) is not None


def marked(pages: Iterable[Arc], problems: Collection[Problem]) -> Pages:
    """The markers of the pages. Pages merged into others are skipped: their markers moved along."""
    marks: dict[tuple[str, str], Marked] = {}
    refused: list[Problem] = []
    unsure = {name for problem in problems for name in _names(problem.path)}
    whole = not any(problem.hides for problem in problems)
    pages = list(pages)
    # Computed only if a marker does not name its project.
    projects = cache(lambda: {session: arc.project for arc in pages if arc.project for session in arc.sessions})
    for arc in pages:
        if arc.problem_count:
            unsure.update((_key(arc), *_names(arc.path)))
        if arc.merged or not _is_marked(arc):
            continue
        own, unfit = _marks(_key(arc), arc.project, arc.created_us, arc.detail)
        for item in own:
            project = projects().get(item.session) if item.session and not item.project else None
            made = replace(item, project=_project(project)) if project else item
            marks.setdefault((made.arc, made.content_hash), made)
        if unfit:
            unsure.add(_key(arc))
        refused += [Problem(arc.path, line, reason) for line, reason in unfit]
    known = None if whole else frozenset(_key(arc) for arc in pages if not arc.merged)
    return Pages(tuple(marks.values()), frozenset(unsure), tuple(refused), known)


# Cached, because most pages stay the same from tick to tick.
@lru_cache(maxsize=65_536)
def _marks(key: str, project: str, created_us: int, detail: str) -> tuple[list[Marked], list[tuple[int, str]]]:
    """The markers of an arc, and for those that can't become memories the line and the reason."""
    marks: list[Marked] = []
    unfit: list[tuple[int, str]] = []
    for marker in markers_of(detail, MEMORY_TYPES):
        content = _plain(marker.content) if marker.block else ""
        if len(content) > limits.CONTENT_CHARS:
            reason = f"@{marker.type}: a memory holds at most {limits.CONTENT_CHARS} characters"
            unfit.append((marker.line_start, reason))
        elif _has_conflict(content):
            unfit.append((marker.line_start, f"@{marker.type} holds a merge conflict: resolve it"))
        elif content:
            marks.append(
                Marked(
                    arc=key,
                    type=marker.type,
                    content=content,
                    project=_project(marker.attrs.get("project") or project),
                    session=marker.attrs.get("session", ""),
                    occurred_at=from_iso(marker.attrs.get("date", "")) or created_us,
                    given_id=marker.attrs.get("id", ""),
                )
            )
    return marks, unfit


def _has_conflict(content: str) -> bool:
    """True if the text has the marks of a merge conflict, outside of quoted code."""
    found = [mark.start() for mark in _CONFLICT.finditer(content)]
    quoted = Quoted(Lines(content)) if found else None
    return quoted is not None and not all(map(quoted.holds, found))


@lru_cache(maxsize=4096)
def _project(name: str) -> str:
    return quotable_line(name, limits.PROJECT_CHARS)


def _plain(content: str) -> str:
    """Clean a text for a memory: remove marks (not the text they enclose), control characters and credentials."""
    text = without_markers(content)
    if not text.isprintable():
        text = "".join(char for char in text if char in "\n\t" or char.isprintable())
    return redacted(text).strip()


def _key(arc: Arc) -> str:
    return _short(arc.id if arc.ranked else arc.path)


def _names(path: str) -> tuple[str, str]:
    stem = path.rpartition("/")[2].removesuffix(".md")
    return _short(path), _short(stem)


def _short(name: str) -> str:
    return name if len(name) <= 255 else f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def compared(pages: Pages, rows: Iterable[VaultMemory]) -> Comparison:
    """Compare by arc and content. Markers that may exist although they were not found do not count as gone."""
    here = {(item.arc, item.content_hash): item for item in pages.marked}
    left = [row for row in rows if here.pop((row.arc, row.content_hash), None) is None]
    by_content: dict[str, list[VaultMemory]] = {}
    for row in left:
        by_content.setdefault(row.content_hash, []).append(row)
    result = Comparison()
    for mark in here.values():
        before = by_content.get(mark.content_hash)
        if before:
            result.moved.append((before.pop(), mark))
        else:
            result.new.append(mark)
    taken = {(row.arc, row.marker) for row, _ in result.moved}
    result.gone = [row for row in left if (row.arc, row.marker) not in taken and not pages.may_hold(row.arc)]
    return result


def edits(comparison: Comparison, memories: Mapping[str, Memory]) -> list[tuple[VaultMemory, Marked]]:
    """Find edited markers: pairs of a gone and a new marker of the same arc that have the same id, or the same type and
    similar content. `memories`: those of the gone rows. A pair is removed from both lists."""
    pairs: list[tuple[VaultMemory, Marked]] = []
    by_arc: dict[str, list[VaultMemory]] = {}
    for row in comparison.gone:
        by_arc.setdefault(row.arc, []).append(row)
    for item in list(comparison.new):
        rows = by_arc.get(item.arc, [])
        same = next((row for row in rows if item.given_id and row.marker == _marker(item)), None)
        same = same or _most_similar(item, rows, memories)
        if same is not None:
            rows.remove(same)
            comparison.gone.remove(same)
            comparison.new.remove(item)
            pairs.append((same, item))
    return pairs


def _most_similar(mark: Marked, rows: Iterable[VaultMemory], memories: Mapping[str, Memory]) -> VaultMemory | None:
    known = [
        (row, memory.content[:_COMPARED])
        for row in rows
        if (memory := memories.get(row.memory_id)) is not None and memory.metadata.get("marker") == mark.type
    ]
    text = mark.content[:_COMPARED]
    pieces = _pieces(text)
    # Only the nearest by a quick measure: a full comparison takes up to a tenth of a second.
    nearest = nlargest(_NEAREST, known, key=lambda pair: len(pieces & _pieces(pair[1])))
    best, similar = _ALIKE, None
    for row, before in nearest:
        matcher = SequenceMatcher(None, before, text, autojunk=False)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (alike := matcher.ratio()) > best:
            best, similar = alike, row
    return similar


@lru_cache(maxsize=4096)
def _pieces(text: str) -> frozenset[str]:
    """All parts of three characters."""
    return frozenset(text[at : at + 3] for at in range(max(1, len(text) - 2)))


def row_of(mark: Marked, memory_id: str, taken: Collection[tuple[str, str]]) -> VaultMemory:
    """The row of a marker that is new in its arc. `taken`: keys of the existing rows."""
    marker = _marker(mark)
    while (mark.arc, marker) in taken:
        marker = joined_hash(marker, "again")
    return VaultMemory(arc=mark.arc, marker=marker, memory_id=memory_id, content_hash=mark.content_hash)


def _marker(mark: Marked) -> str:
    return joined_hash("id", mark.type, mark.given_id) if mark.given_id else mark.content_hash
