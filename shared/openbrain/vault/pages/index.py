"""All pages of a vault as arcs, reading only those that changed.

The result is cached in a file with one line per page; the last line of a path counts. If the file is missing or
damaged, every page is read again, with the same result.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import orjson

from openbrain.domain.errors import NeverRetry, NotFound
from openbrain.vault.files.changes import sha256
from openbrain.vault.files.folder import Entry, Folder, Seen, is_settled
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc, of_row, row
from openbrain.vault.values import Problem

# If several pages have the same arc id, the page in the first of these folders counts.
REGIONS = ("bridge", "left", "right", "pineal", "amygdala")
KEPT_CHARS = 32_000_000
FOLDERS = (*REGIONS, "clusters", "frontal-lobe", "daily")
VERSION = "6"
"""Increase it when `parse_arc` changes its result: an index file of another version is ignored."""
_FIRST_LINE = f"{VERSION}\n".encode()


class Known(NamedTuple):
    """A file as it was last read."""

    mtime_ns: int
    size: int
    settled: bool
    """Whether the same mtime and size guarantee the same content."""
    sha256: str
    arc: Arc


@dataclass(frozen=True, slots=True)
class Scan:
    """A vault at one moment.

    `pages`: the pages that count, by path. `shadowed`: further files with the id of an arc in `pages`. `references`:
    the small files that only refer to an arc, by path. `dashboards` and `inbox` are paths.
    """

    pages: Mapping[str, Arc]
    shadowed: tuple[Arc, ...] = ()
    references: Mapping[str, Arc] = field(default_factory=dict)
    dashboards: tuple[str, ...] = ()
    inbox: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    read: int = 0
    """Files that had to be read."""
    texts: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Texts of pages that were parsed, as many as fit into `KEPT_CHARS`: most of these pages are changed next."""
    digests: Mapping[str, str] = field(default_factory=dict, compare=False)
    """SHA-256 of these texts, in hex."""
    seen: Mapping[str, Seen] = field(default_factory=dict, compare=False)
    """States of these files, as far as the same state guarantees the same content."""


def state_file(data_dir: Path, workspace_id: str, root: Path) -> Path:
    """Path of the index file of a vault's pages. If it is removed, all pages are read again."""
    name = hashlib.sha256(f"{workspace_id}\0{root}".encode()).hexdigest()[:16]
    return data_dir / "vaults" / f"{name}.index"


class Index:
    """The known content of a vault's pages. Not safe for concurrent use. `state`: its file; None: memory only."""

    def __init__(self, state: Path | None = None, *, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._state = state
        self._clock_ns = clock_ns
        self._known: dict[str, Known] | None = None
        self._lines = 0

    def scan(self, folder: Folder) -> Scan:
        """The vault as it is now. Blocking."""
        with folder.held() as held:
            return self._scan(held)

    def _scan(self, folder: Folder) -> Scan:
        before = self._load() if self._known is None else self._known
        known: dict[str, Known] = {}
        new: dict[str, Known] = {}
        problems: list[Problem] = []
        dashboards: list[str] = []
        texts = _Texts()
        for name in FOLDERS:
            for entry in folder.walk(name, problems):
                path = entry.path
                if not path.endswith(".md"):
                    continue
                had = before.get(path)
                if had is not None and had[0] == entry.mtime_ns and had[1] == entry.size and had[2]:
                    known[path] = had
                elif path.rsplit("/", 1)[1].startswith("_"):
                    if path.endswith("/_dashboard.md"):
                        dashboards.append(path)
                else:
                    read = self._read(folder, entry, had, problems, texts)
                    if read is not None:
                        known[path] = new[path] = read
        inbox = tuple(entry.path for entry in folder.walk("raw/inbox", problems) if entry.path.endswith(".md"))
        self._known = known
        self._save(new)
        references: dict[str, Arc] = {}
        others: list[Arc] = []
        for path, had in known.items():
            if had.arc.problem_count:
                problems += had.arc.problems
            if had.arc.reference:
                references[path] = had.arc
            else:
                others.append(had.arc)
        pages, shadowed = counting(others)
        return Scan(
            pages,
            shadowed,
            references,
            dashboards=tuple(dashboards),
            inbox=inbox,
            problems=tuple(problems),
            read=len(new),
            texts=texts.kept,
            digests=texts.digests,
            seen=texts.seen,
        )

    def written(self, arcs: Iterable[tuple[Arc, Entry, str]]) -> None:
        """Record pages just written, with their entries and SHA-256, so that the next scan need not read them."""
        if self._known is None:
            return
        now_ns = self._clock_ns()
        new = {
            arc.path: Known(at.mtime_ns, at.size, is_settled(at.mtime_ns, now_ns), digest, arc)
            for arc, at, digest in arcs
        }
        self._known.update(new)
        self._save(new)

    def _read(
        self, folder: Folder, entry: Entry, had: Known | None, problems: list[Problem], texts: "_Texts"
    ) -> Known | None:
        """Read a page; None if it is gone or can't be read."""
        began = self._clock_ns()
        try:
            data, stat = folder.read_and_stat(entry.path)
            digest = sha256(data)
            if had is not None and had.sha256 == digest and (had.arc.dated or had.mtime_ns == entry.mtime_ns):
                arc = had.arc
            else:
                text = data.decode()
                arc = parse_arc(entry.path, text, entry.mtime_ns)
                settled = is_settled(max(stat.st_mtime_ns, stat.st_ctime_ns), began)
                texts.keep(entry.path, text, digest, stat if settled else None)
        except NotFound:
            return None
        except NeverRetry as error:
            problems.append(Problem(entry.path, 0, str(error)))
            return None
        except UnicodeDecodeError as error:
            problems.append(Problem(entry.path, data.count(b"\n", 0, error.start) + 1, "not UTF-8: save it as UTF-8"))
            return None
        return Known(entry.mtime_ns, entry.size, is_settled(entry.mtime_ns, began), digest, arc)

    def _load(self) -> dict[str, Known]:
        if self._state is None:
            return {}
        known: dict[str, Known] = {}
        lines = 0
        try:
            with self._state.open("rb") as file:
                if file.readline() != _FIRST_LINE:
                    return {}
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # cut off
                    path, had = _of_line(line)
                    known[path] = had
                    lines += 1
        except (OSError, ValueError, TypeError, IndexError, AttributeError):
            return {}
        self._lines = lines
        return known

    def _save(self, new: Mapping[str, Known]) -> None:
        """Append what is new, or rewrite the file if too many of its lines are stale. Disk errors are ignored."""
        if self._state is None or self._known is None or not new:
            return
        with suppress(OSError):
            self._state.parent.mkdir(parents=True, exist_ok=True)
            if self._lines == 0 or self._lines + len(new) > len(self._known) + len(self._known) // 4 + 1000:
                temporary = self._state.with_name(f"{self._state.name}.{os.getpid()}")
                with temporary.open("wb") as file:
                    file.write(_FIRST_LINE)
                    file.writelines(_lines(self._known))
                temporary.replace(self._state)
                self._lines = len(self._known)
            else:
                with self._state.open("ab") as file:
                    file.writelines(_lines(new))
                self._lines += len(new)


def _lines(known: Mapping[str, Known]) -> Iterator[bytes]:
    """Each line: a JSON array of what every tick needs, a tab, and the arc's `detail`, which is decoded on demand."""
    for path, had in known.items():
        values, detail = row(had.arc)
        head = orjson.dumps([path, had.mtime_ns, had.size, had.settled, had.sha256, values])
        yield head + b"\t" + detail.encode() + b"\n"


def _of_line(line: bytes) -> tuple[str, Known]:
    head, _, detail = line.partition(b"\t")
    path, mtime_ns, size, settled, digest, arc = orjson.loads(head)
    return path, Known(mtime_ns, size, settled, digest, of_row(arc, detail[:-1].decode()))


class _Texts:
    """Texts of pages, up to `KEPT_CHARS` in total."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.seen: dict[str, Seen] = {}
        self._left = KEPT_CHARS

    def keep(self, path: str, text: str, digest: str, stat: os.stat_result | None) -> None:
        """Keep a page's text if there is room for it. `stat`: given if the same state guarantees the same content."""
        if len(text) <= self._left:
            self.kept[path], self.digests[path] = text, digest
            self._left -= len(text)
            if stat is not None:
                self.seen[path] = Seen.of(stat)


def in_order(path: str) -> tuple[int, list[str]]:
    """Sort key that gives paths the order of a scan."""
    parts = path.split("/")
    return FOLDERS.index(parts[0]) if parts[0] in FOLDERS else len(FOLDERS), parts


def counting(arcs: Iterable[Arc]) -> tuple[dict[str, Arc], tuple[Arc, ...]]:
    """Pages that count, by path, and those that do not because another file with their arc id counts. `arcs` come in
    the order of a scan."""
    pages: dict[str, Arc] = {}
    shadowed: list[Arc] = []
    first: dict[str, str] = {}
    for arc in arcs:
        path = arc.path
        if arc.ranked:
            other = first.setdefault(arc.id, path)
            if other != path:
                if not arc.merged or pages[other].merged or _folder(path) != _folder(other):
                    shadowed.append(arc)
                    continue
                # Merged by hand or by another tick, and its plain file written again since: the merged one counts.
                shadowed.append(pages.pop(other))
                first[arc.id] = path
        pages[path] = arc
    return pages, tuple(shadowed)


def _folder(path: str) -> PurePosixPath:
    return PurePosixPath(path).parent
