"""Changes of many files as one: all are written, or none, also where the writer is killed between two.

The journal holds the changes whole and lies in `.openbrain` of the folder until the last is in place. One writer at
a time: its lease is taken elsewhere. Blocking: call it in a thread.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from openbrain.domain.errors import Conflict, Invalid, NotFound
from openbrain.vault.files.changes import Change, effective
from openbrain.vault.files.folder import Folder
from openbrain.vault.markers import atomic_writes

JOURNAL = ".openbrain/journal"
TOGETHER, SYNCS_AT_ONCE = 256, 8
"""Files that are laid out before the first takes its name; so many of them wait for the disk at once."""
MANY = 32
"""From so many on they are flushed together."""
_VERSION = 1
_ANY_SIZE = 1 << 40
# What says nothing new keeps its time but for this much: the coarsest disk counts so, and whoever looks for changes by
# time sees it.
_STEP_NS = 2_000_000_000

Times = Mapping[str, int]
"""By path, nanoseconds: of files that are not to be as new as their writing."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done. `edited` are files that someone else changed meanwhile: they stay as they are."""

    written: int = 0
    removed: int = 0
    edited: tuple[str, ...] = ()


def apply(folder: Folder, changes: Iterable[Change], *, at_step: Callable[[str], None] = lambda _: None) -> Applied:
    """Do them all. Conflict, and nothing done, where a file is not what its change says; Invalid for a bad path.

    `at_step` is told of every step before it is taken. Call `recover` first: an old journal is a Conflict.
    """
    wanted = effective(changes)
    if not wanted:
        return Applied()
    with folder.held() as held:
        return _applied(held, wanted, at_step)


def _applied(folder: Folder, wanted: Sequence[Change], at_step: Callable[[str], None]) -> Applied:
    if folder.digest(JOURNAL) is not None:
        raise Conflict("an earlier writer was killed: recover what it left first")
    for change in wanted:
        if folder.digest(change.path) != change.before:
            raise Conflict(f"{change.path}: changed meanwhile, plan again")
    at_step("journal")
    times = _times(folder, wanted)
    atomic_writes.write(folder, JOURNAL, *_packed(wanted, times))
    return _finish(folder, wanted, times, at_step)


def recover(folder: Folder, *, at_step: Callable[[str], None] = lambda _: None) -> Applied:
    """Finish what a killed writer has begun: with a journal all of it, without one there is nothing to do."""
    atomic_writes.clear(folder, JOURNAL)
    try:
        data = Folder(folder.root, max_bytes=_ANY_SIZE).read_bytes(JOURNAL)
    except NotFound:
        return Applied()
    changes, times = _unpacked(data)
    for change in changes:
        atomic_writes.clear(folder, change.path)
    return _finish(folder, changes, times, at_step)


def _times(folder: Folder, changes: Iterable[Change]) -> Times:
    """Before the first file is touched: a move takes away the one that is asked for its time."""
    found: dict[str, int] = {}
    for change in changes:
        if change.time_of is not None and change.after is not None:
            with suppress(NotFound):
                found[change.path] = folder.stat(change.time_of).mtime_ns + _STEP_NS
    return found


def _finish(folder: Folder, changes: Sequence[Change], times: Times, at_step: Callable[[str], None]) -> Applied:
    written, removed, edited = 0, 0, []
    with ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
        for start in range(0, len(changes), TOGETHER):
            some = changes[start : start + TOGETHER]
            for change in some:
                at_step(change.path)
            # All are on the disk before the first takes its name, and all names before the journal goes.
            for change, found in zip(some, _all_prepared(folder, some, times, pool), strict=True):
                at_step(f"{change.path} in place")
                if not _placed(folder, change, found):
                    edited.append(change.path)
                    continue
                written += change.after is not None
                removed += change.after is None
            folders = {change.path.rpartition("/")[0]: change.path for change in some}
            list(pool.map(lambda path: atomic_writes.sync(folder, path), folders.values()))
    at_step("done")
    atomic_writes.remove(folder, JOURNAL)
    return Applied(written, removed, tuple(edited))


def _all_prepared(
    folder: Folder, changes: Sequence[Change], times: Times, pool: ThreadPoolExecutor
) -> "Sequence[atomic_writes.Seen | _Now | None]":
    """Few are flushed one beside the other; of many the file system is, which may hold what others write."""
    if len(changes) >= MANY:
        ready = [_prepared(folder, change, times.get(change.path), flush=False) for change in changes]
        if atomic_writes.sync_all(folder, [change.path for change in changes]):
            return ready
    return list(pool.map(lambda change: _prepared(folder, change, times.get(change.path)), changes))


class _Now(Enum):
    """What stands where a change is to be made."""

    DONE = "done before a kill"
    OTHER = "somebody else's"


def _prepared(
    folder: Folder, change: Change, mtime_ns: int | None, *, flush: bool = True
) -> atomic_writes.Seen | _Now | None:
    """What is there before the change, whose content lies beside it from now on."""
    try:
        before = atomic_writes.seen(folder, change.path)
        digest = folder.digest(change.path)
    except Invalid:  # a link or folder has taken its place
        return _Now.OTHER
    if digest == change.digest:
        return _Now.DONE
    if digest != change.before:
        return _Now.OTHER
    if change.after is not None:
        atomic_writes.lay_beside(folder, change.path, (change.after,), before, mtime_ns, flush=flush)
    return before


def _placed(folder: Folder, change: Change, found: atomic_writes.Seen | _Now | None) -> bool:
    if isinstance(found, _Now):
        return found is _Now.DONE
    try:
        return atomic_writes.take_place(folder, change.path, found, removed=change.after is None)
    except NotFound:  # with its folder
        return change.after is None


def _packed(changes: Sequence[Change], times: Times) -> Iterator[bytes]:
    rows = [[change.path, change.before, None if change.after is None else len(change.after)] for change in changes]
    yield json.dumps({"version": _VERSION, "changes": rows, "times": times}).encode()
    yield b"\n"
    yield from (change.after for change in changes if change.after)


def _unpacked(data: bytes) -> tuple[list[Change], Times]:
    head, _, rest = data.partition(b"\n")
    try:
        read = json.loads(head)
        rows = read["changes"] if read["version"] == _VERSION else []
        times = {str(path): int(at) for path, at in read.get("times", {}).items()}
        whole = sum(size or 0 for _, _, size in rows) == len(rest)
    except (ValueError, KeyError, TypeError, AttributeError):
        rows, times, whole = [], {}, False
    if not rows or not whole:
        raise Invalid(JOURNAL, "not a journal of this version: look at it, then remove it")
    changes, at = [], 0
    for path, before, size in rows:
        changes.append(Change(path, before, None if size is None else rest[at : at + size]))
        at += size or 0
    return effective(changes), times
