"""Lessons, decisions and milestones of a vault as memories: what is new, edited, moved or gone. Pure comparison."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from typing import Final

from openbrain.domain import limits
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import Memory
from openbrain.domain.times import from_iso
from openbrain.ports.store.vault import VaultMemory
from openbrain.vault.markers.kinds import MEMORY_TYPES
from openbrain.vault.markers.markers import without_markers
from openbrain.vault.markers.redaction import quotable_line, redacted
from openbrain.vault.pages.arcs import Arc, markers_of
from openbrain.vault.values import Problem

SOURCE: Final = "vault:"
"""Begins the source of a memory that the tick has made of a marker; the arc follows."""
_ALIKE: Final = 0.5
_COMPARED: Final = 2_000
_NAMES = re.compile("|".join(f'"{name}"' for name in MEMORY_TYPES))


@dataclass(frozen=True, kw_only=True)
class Marked:
    """A marker that is to be a memory."""

    arc: str
    type: str
    """Of the marker."""
    content: str
    project: str
    session: str
    """The session that it was said in; '' where it names none."""
    occurred_at: int
    """Microseconds."""
    given_id: str
    """The marker's own `id`, '' for none: with one it stays the same however it is edited."""

    @cached_property
    def content_hash(self) -> str:
        return joined_hash(self.type, self.content)

    @property
    def source(self) -> str:
        return f"{SOURCE}{self.arc}"[: limits.SOURCE_CHARS]


@dataclass(frozen=True, slots=True)
class Pages:
    """All markers of a vault, and of which arcs nothing may be missed."""

    marked: tuple[Marked, ...]
    unsure: frozenset[str]
    """Arcs with problems, and files that could not be read: what is not seen there may be there."""
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class Comparison:
    """The markers of today against the rows of the last time."""

    moved: list[tuple[VaultMemory, Marked]] = field(default_factory=list)
    """Said the same in another arc before: merged, renamed."""
    new: list[Marked] = field(default_factory=list)
    gone: list[VaultMemory] = field(default_factory=list)


def digest(pages: Iterable[Arc], problems: Iterable[Problem]) -> str:
    """Changes with whatever `marked` reads of them."""
    total = hashlib.sha256()
    for arc in sorted(pages, key=lambda item: item.path):
        if not arc.merged and (arc.problem_count or _is_marked(arc)):
            total.update(f"{arc.path}\0{arc.project}\0{arc.created_us}\0{arc.detail}\0".encode())
    for problem in sorted(problems, key=lambda item: (item.path, item.line)):
        total.update(f"{problem.path}\0".encode())
    return total.hexdigest()


def _is_marked(arc: Arc) -> bool:
    return _NAMES.search(arc.detail) is not None


def marked(pages: Iterable[Arc], problems: Iterable[Problem]) -> Pages:
    """The markers of the pages. None of a page merged into another: its markers went along."""
    marks: dict[tuple[str, str], Marked] = {}
    refused: list[Problem] = []
    unsure = {name for problem in problems for name in _names(problem.path)}
    pages = list(pages)
    # Looked up only where a marker does not say its own.
    projects = cache(lambda: {session: arc.project for arc in pages if arc.project for session in arc.sessions})
    for arc in pages:
        if arc.problem_count:
            unsure.update((_key(arc), *_names(arc.path)))
        if arc.merged or not _is_marked(arc):
            continue
        own, long = _marks(_key(arc), arc.project, arc.created_us, arc.detail)
        for item in own:
            project = projects().get(item.session) if item.session and not item.project else None
            made = replace(item, project=_project(project)) if project else item
            marks.setdefault((made.arc, made.content_hash), made)
        for kind, line in long:
            reason = f"@{kind}: a memory holds at most {limits.CONTENT_CHARS} characters"
            refused.append(Problem(arc.path, line, reason))
    return Pages(tuple(marks.values()), frozenset(unsure), tuple(refused))


# The same from tick to tick, where one page of many was edited.
@lru_cache(maxsize=65_536)
def _marks(key: str, project: str, created_us: int, detail: str) -> tuple[list[Marked], list[tuple[str, int]]]:
    """The markers of an arc, and type and line of others that are too long."""
    marks: list[Marked] = []
    long: list[tuple[str, int]] = []
    for marker in markers_of(detail, MEMORY_TYPES):
        content = _plain(marker.content) if marker.block else ""
        if len(content) > limits.CONTENT_CHARS:
            long.append((marker.type, marker.line_start))
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
    return marks, long


@lru_cache(maxsize=4096)
def _project(name: str) -> str:
    return quotable_line(name, limits.PROJECT_CHARS)


def _plain(content: str) -> str:
    """Clean a text for a memory: what marks enclose without the marks, no control characters, no credentials."""
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
    """By arc and content; what an unsure arc lacks is not gone."""
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
    result.gone = [row for row in left if (row.arc, row.marker) not in taken and row.arc not in pages.unsure]
    return result


def edits(comparison: Comparison, memories: Mapping[str, Memory]) -> list[tuple[VaultMemory, Marked]]:
    """Pairs of what is gone and what is new in the same arc that are one marker, edited: of the same id, or of one type
    and much alike. `memories` are those of the rows that are gone; a pair is taken out of both lists."""
    pairs: list[tuple[VaultMemory, Marked]] = []
    by_arc: dict[str, list[VaultMemory]] = {}
    for row in comparison.gone:
        by_arc.setdefault(row.arc, []).append(row)
    for item in list(comparison.new):
        rows = by_arc.get(item.arc, [])
        same = next((row for row in rows if item.given_id and row.marker == _marker(item)), None)
        same = same or _likest(item, rows, memories)
        if same is not None:
            rows.remove(same)
            comparison.gone.remove(same)
            comparison.new.remove(item)
            pairs.append((same, item))
    return pairs


def _likest(mark: Marked, rows: Sequence[VaultMemory], memories: Mapping[str, Memory]) -> VaultMemory | None:
    best, likest = _ALIKE, None
    for row in rows:
        memory = memories.get(row.memory_id)
        if memory is None or memory.metadata.get("marker") != mark.type:
            continue
        matcher = SequenceMatcher(None, memory.content[:_COMPARED], mark.content[:_COMPARED], autojunk=False)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (alike := matcher.ratio()) > best:
            best, likest = alike, row
    return likest


def row_of(mark: Marked, memory_id: str, taken: Collection[tuple[str, str]]) -> VaultMemory:
    """The row of a marker that is new in its arc; `taken` are the keys of rows that stand."""
    marker = _marker(mark)
    while (mark.arc, marker) in taken:
        marker = joined_hash(marker, "again")
    return VaultMemory(arc=mark.arc, marker=marker, memory_id=memory_id, content_hash=mark.content_hash)


def _marker(mark: Marked) -> str:
    return joined_hash("id", mark.type, mark.given_id) if mark.given_id else mark.content_hash
