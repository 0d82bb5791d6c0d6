"""Atomic changes of many files: all are written or none, even if the writer is killed in between.

The journal contains the complete changes and stays in the vault's `.openbrain` until the last one is in place. Only one
writer at a time: the caller holds the lease. Blocking: call it in a thread.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from openbrain.domain.errors import Conflict, Invalid, NotFound
from openbrain.domain.tasks import chunks
from openbrain.vault.files.changes import Change, effective
from openbrain.vault.files.folder import Entry, Folder, Seen, is_settled
from openbrain.vault.markers import atomic_writes

JOURNAL = ".openbrain/journal"
TOGETHER, SYNCS_AT_ONCE = 256, 8
"""Files written to temporary files before the first is renamed; number of files flushed concurrently."""
MANY = 32
"""From this number of files on, the whole file system is flushed instead of single files."""
_VERSION = 1
_ANY_SIZE = 1 << 40
# A file that keeps its mtime gets it increased by this: the resolution of the coarsest file system, so that whoever
# looks for changes by mtime sees one.
_STEP_NS = 2_000_000_000

Times = Mapping[str, int]
"""The mtime to set, by path, in nanoseconds, for files that shall not look newly written."""
Known: TypeAlias = Mapping[str, Seen | None]
"""By path: state in which a file is sure to have the content of its change's `before`; None: no file."""


class Move(NamedTuple):
    """A page that moves unchanged. It is renamed, at a third of the cost of writing a new file and removing the old."""

    source: str
    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The result. `edited`: files that someone else changed meanwhile; they are left unchanged."""

    written: int = 0
    removed: int = 0
    edited: tuple[str, ...] = ()
    laid: Mapping[str, Entry] = field(default_factory=dict, compare=False)
    """Entries of the written files, by path, as the next scan finds them if nobody changes them."""


class Work(NamedTuple):
    """The content of a journal. `changes` does not include those of `moves`."""

    changes: Sequence[Change]
    moves: Sequence[Move]
    times: Times


def apply(
    folder: Folder,
    changes: Iterable[Change],
    *,
    seen: Mapping[str, Seen] = MappingProxyType({}),
    at_step: Callable[[str], None] = lambda _: None,
) -> Applied:
    """Make all changes. If a file's content is not its change's `before`, raise Conflict and change nothing. Invalid
    for a bad path.

    `seen`: states of files at planning; a file still in that state is not read again. `at_step` is called before every
    step. Call `recover` first: a journal left by an earlier writer is a Conflict.
    """
    wanted = effective(changes)
    if not wanted:
        return Applied()
    with folder.held() as held:
        return _applied(held, wanted, seen, at_step)


def _applied(
    folder: Folder, wanted: Sequence[Change], seen: Mapping[str, Seen], at_step: Callable[[str], None]
) -> Applied:
    if folder.digest(JOURNAL) is not None:
        raise Conflict("an earlier writer was killed: recover what it left first")
    known = _as_planned(folder, wanted, seen)
    at_step("journal")
    moves = _moves(wanted)
    moved = {path for move in moves for path in (move.source, move.path)}
    work = Work([change for change in wanted if change.path not in moved], moves, _times(folder, wanted, known))
    atomic_writes.write(folder, JOURNAL, *_packed(work))
    return _finish(folder, work, known, at_step)


def recover(folder: Folder, *, at_step: Callable[[str], None] = lambda _: None) -> Applied:
    """Complete the changes in the journal of a killed writer; do nothing if there is no journal."""
    atomic_writes.clear(folder, JOURNAL)
    try:
        data = Folder(folder.root, max_bytes=_ANY_SIZE).read_bytes(JOURNAL)
    except NotFound:
        return Applied()
    work = _unpacked(data)
    with folder.held() as held:
        for change in work.changes:
            atomic_writes.clear(held, change.path)
        return _finish(held, work, {}, at_step)


def _as_planned(folder: Folder, changes: Iterable[Change], seen: Mapping[str, Seen]) -> Known:
    """Check that every file's content is its change's `before`; Conflict otherwise. Return their states."""
    known: dict[str, Seen | None] = {}
    for change in changes:
        planned_over = seen.get(change.path)
        if planned_over is not None and atomic_writes.seen(folder, change.path) == planned_over:
            known[change.path] = planned_over
            continue
        now_ns = time.time_ns()
        current = folder.digest_and_stat(change.path)
        if (None if current is None else current[0]) != change.before:
            raise Conflict(f"{change.path}: changed meanwhile, plan again")
        if current is None:
            known[change.path] = None
        elif is_settled(current[1].st_mtime_ns, now_ns):
            known[change.path] = Seen.of(current[1])
    return known


def _moves(changes: Iterable[Change]) -> list[Move]:
    removed = {change.path: change.before for change in changes if change.after is None}
    return [
        Move(change.time_of, change.path, change.digest)
        for change in changes
        if change.before is None
        and change.time_of is not None
        and change.digest is not None
        and change.digest == removed.get(change.time_of)
    ]


def _times(folder: Folder, changes: Iterable[Change], known: Known) -> Times:
    """The mtimes to keep. Call it before any file is changed: a move removes the file whose mtime is needed."""
    mtimes: dict[str, int] = {}
    for change in changes:
        if change.time_of is not None and change.after is not None:
            seen = known.get(change.time_of) or atomic_writes.seen(folder, change.time_of)
            if seen is not None:
                mtimes[change.path] = seen.mtime_ns + _STEP_NS
    return mtimes


def _finish(folder: Folder, work: Work, known: Known, at_step: Callable[[str], None]) -> Applied:
    changes, times = work.changes, work.times
    written, removed, edited = 0, 0, list[str]()
    laid: dict[str, Entry] = {}
    for move in work.moves:
        at_step(f"{move.path} in place")
        moved_to = _moved(folder, move, known)
        if moved_to is _Now.OTHER:
            edited += move.source, move.path
            continue
        written, removed = written + 1, removed + 1
        if isinstance(moved_to, Entry):
            laid[move.path] = moved_to
    with ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
        for some in chunks(changes, TOGETHER):
            for change in some:
                at_step(change.path)
            # All content is on the disk before the first rename, and all renames before the journal is removed.
            for change, prepared in zip(some, _all_prepared(folder, some, times, known, pool), strict=True):
                at_step(f"{change.path} in place")
                if not _placed(folder, change, prepared):
                    edited.append(change.path)
                    continue
                written += change.after is not None
                removed += change.after is None
                if isinstance(prepared, _Ready) and prepared.laid is not None:
                    laid[change.path] = prepared.laid
        names = [*(change.path for change in changes), *(path for move in work.moves for path in move[:2])]
        _sync_names(folder, names, pool)
    at_step("done")
    atomic_writes.remove(folder, JOURNAL)
    return Applied(written, removed, tuple(edited), laid)


def _all_prepared(
    folder: Folder, changes: Sequence[Change], times: Times, known: Known, pool: ThreadPoolExecutor
) -> "Sequence[_Ready | _Now]":
    """Prepare all changes. Few files are flushed individually, in parallel. For many files the whole file system is
    flushed, which includes what others write there."""

    def prepared(change: Change, *, flush: bool = True) -> "_Ready | _Now":
        return _prepared(folder, change, times.get(change.path), known, flush=flush)

    new = [change.path for change in changes if change.after is not None]
    if len(changes) >= MANY:
        ready = [prepared(change, flush=False) for change in changes]
        if not new or atomic_writes.sync_all(folder, new):
            return ready
    return list(pool.map(prepared, changes))


def _sync_names(folder: Folder, paths: Sequence[str], pool: ThreadPoolExecutor) -> None:
    """Make the names of all files durable before the journal is removed."""
    if len(paths) < MANY or not atomic_writes.sync_all(folder, paths):
        folders = {path.rpartition("/")[0]: path for path in paths}
        list(pool.map(lambda path: atomic_writes.sync(folder, path), folders.values()))


class _Ready(NamedTuple):
    """The state of a file before its change, and the entry of the new content. None: no file."""

    before: Seen | None
    laid: Entry | None


class _Now(Enum):
    """Why a change is not made."""

    DONE = "done before a kill"
    OTHER = "somebody else's"


def _prepared(folder: Folder, change: Change, mtime_ns: int | None, known: Known, *, flush: bool) -> _Ready | _Now:
    """Write the change's content to a temporary file; the file's state before it, or why the change is not made."""
    try:
        before = atomic_writes.seen(folder, change.path)
        if change.path not in known or known[change.path] != before:
            digest = folder.digest(change.path)
            if digest != change.before:
                return _Now.DONE if digest == change.digest else _Now.OTHER
    except Invalid:  # a link or folder has taken its place
        return _Now.OTHER
    if change.after is None:
        return _Ready(before, None)
    return _Ready(before, atomic_writes.lay_beside(folder, change.path, (change.after,), before, mtime_ns, flush=flush))


def _placed(folder: Folder, change: Change, state: _Ready | _Now) -> bool:
    if isinstance(state, _Now):
        return state is _Now.DONE
    try:
        return atomic_writes.take_place(folder, change.path, state.before, removed=change.after is None)
    except NotFound:  # its folder was removed too
        return change.after is None


def _moved(folder: Folder, move: Move, known: Known) -> Entry | _Now:
    """Move a page; its entry in the new place, with its old mtime, or why it was not moved."""
    try:
        here, there = (atomic_writes.seen(folder, path) for path in (move.source, move.path))
        if here is None:
            return _Now.DONE if folder.digest(move.path) == move.digest else _Now.OTHER
        if there is not None or (known.get(move.source) != here and folder.digest(move.source) != move.digest):
            return _Now.OTHER
    except Invalid:  # a link or folder has taken its place
        return _Now.OTHER
    if not atomic_writes.move(folder, move.source, move.path):
        return _Now.OTHER
    # Not the `stat` of the new file: an edit made since must not pass for the content that was read.
    return Entry(move.path, here.mtime_ns, here.size)


def _packed(work: Work) -> Iterator[bytes]:
    changes = work.changes
    rows = [[change.path, change.before, None if change.after is None else len(change.after)] for change in changes]
    head = {"version": _VERSION, "changes": rows, "times": work.times, "moves": work.moves}
    yield json.dumps(head).encode()
    yield b"\n"
    yield from (change.after for change in changes if change.after)


def _unpacked(data: bytes) -> Work:
    head, _, rest = data.partition(b"\n")
    try:
        read = json.loads(head)
        rows = read["changes"] if read["version"] == _VERSION else []
        moves = [Move(*map(str, item)) for item in read.get("moves", [])]
        times = {str(path): int(at) for path, at in read.get("times", {}).items()}
        complete = sum(size or 0 for _, _, size in rows) == len(rest)
    except (ValueError, KeyError, TypeError, AttributeError):
        rows, moves, times, complete = [], [], {}, False
    if not (rows or moves) or not complete:
        raise Invalid(JOURNAL, "not a journal of this version: look at it, then remove it")
    changes, at = [], 0
    for path, before, size in rows:
        changes.append(Change(path, before, None if size is None else rest[at : at + size]))
        at += size or 0
    for move in moves:
        effective([Change(move.source, move.digest, None), Change(move.path, None, b"")])
    return Work(effective(changes), moves, times)
