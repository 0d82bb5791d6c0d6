"""Changes of many files as one: all are written, or none, also where the writer is killed between two.

The journal holds the changes whole and lies in `.openbrain` of the folder until the last is in place. One writer at
a time: its lease is taken elsewhere. Blocking: call it in a thread.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from openbrain.errors import Conflict, Invalid, NotFound
from openbrain.vault import placing
from openbrain.vault.changes import Change, effective
from openbrain.vault.folder import Folder

JOURNAL = ".openbrain/journal"
_VERSION = 1


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
    if folder.digest(JOURNAL) is not None:
        raise Conflict("an earlier writer was killed: recover what it left first")
    for change in wanted:
        if folder.digest(change.path) != change.before:
            raise Conflict(f"{change.path}: changed meanwhile, plan again")
    at_step("journal")
    placing.write(folder, JOURNAL, _packed(wanted))
    return _finish(folder, wanted, at_step)


def recover(folder: Folder, *, at_step: Callable[[str], None] = lambda _: None) -> Applied:
    """Finish what a killed writer has begun: with a journal all of it, without one there is nothing to do."""
    placing.clear(folder, JOURNAL)
    try:
        data = Folder(folder.root, max_bytes=_ANY_SIZE).read_bytes(JOURNAL)
    except NotFound:
        return Applied()
    changes = _unpacked(data)
    for change in changes:
        placing.clear(folder, change.path)
    return _finish(folder, changes, at_step)


_ANY_SIZE = 1 << 40


def _finish(folder: Folder, changes: Sequence[Change], at_step: Callable[[str], None]) -> Applied:
    written, removed, edited = 0, 0, []
    for change in changes:
        at_step(change.path)
        if not _is_either(folder, change):
            edited.append(change.path)
            continue
        if folder.digest(change.path) == change.digest:
            pass  # done before a kill
        elif change.after is None:
            placing.remove(folder, change.path)
        else:
            placing.write(folder, change.path, change.after)
        written += change.after is not None
        removed += change.after is None
    at_step("done")
    placing.remove(folder, JOURNAL)
    return Applied(written, removed, tuple(edited))


def _is_either(folder: Folder, change: Change) -> bool:
    """Whether the file is as it was before or as it shall be."""
    try:
        return folder.digest(change.path) in {change.before, change.digest}
    except Invalid:  # a link or folder has taken its place
        return False


def _packed(changes: Sequence[Change]) -> bytes:
    rows = [[change.path, change.before, None if change.after is None else len(change.after)] for change in changes]
    head = json.dumps({"version": _VERSION, "changes": rows}).encode()
    return b"\n".join([head, b"".join(change.after or b"" for change in changes)])


def _unpacked(data: bytes) -> list[Change]:
    head, _, rest = data.partition(b"\n")
    try:
        read = json.loads(head)
        rows = read["changes"] if read["version"] == _VERSION else []
        whole = sum(size or 0 for _, _, size in rows) == len(rest)
    except (ValueError, KeyError, TypeError):
        rows, whole = [], False
    if not rows or not whole:
        raise Invalid(JOURNAL, "not a journal of this version: look at it, then remove it")
    changes, at = [], 0
    for path, before, size in rows:
        changes.append(Change(path, before, None if size is None else rest[at : at + size]))
        at += size or 0
    return effective(changes)
