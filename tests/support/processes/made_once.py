"""What each new system creates first, an SQLite database with current tables and an empty vector index: made once per
run, then copied.

That creating them works is tested by the first system, by programs that are really started, and by the tests of
migrations, engines and full disks.
"""

import os
import pickle
import shutil
import stat
import uuid
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from openbrain.adapters.qdrant_edge.shard import Shard
from openbrain.adapters.sql.engine.database import SQLITE
from openbrain.adapters.sql.engine.opening import parse
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain_cli.system.embedded import pipeline
from tests.support.processes.short_pauses import shorten

KEPT = Path(os.environ.get("OPENBRAIN_TEST_KEPT", os.devnull))
"""The run's folder, set before any fork, because commands have an environment of their own. The null device outside a
run."""
_BLOCK = 65_536
_EMPTY = bytes(_BLOCK)
_make = Shard.make


class _Entry(NamedTuple):
    """A file or folder. Zeros, nearly all of an index, are not stored."""

    name: str
    mode: int
    mtime_ns: int
    size: int
    blocks: list[tuple[int, bytes]]


Change = Callable[[Any, str, Any], object]
"""Sets an attribute: a test's monkeypatch, which restores it, or a fork's `setattr`."""


def copy(change: Change = setattr) -> None:
    """Make this process copy instead of create."""
    change(pipeline, "upgrade", _upgraded)
    # Existing objects are frozen already, and `long_running` would count them: a million.
    change(pipeline, "long_running", nullcontext)
    copy_indexes(change)


def shorten_and_copy() -> None:
    """Apply short pauses and copying; a fork calls it before its command."""
    shorten()
    copy()


def copy_indexes(change: Change) -> None:
    """Copy vector indexes only."""
    change(Shard, "make", _shard)


def _upgraded(url: str) -> None:
    address = parse(url)
    file, kept = Path(str(address.database)), KEPT / "store.sqlite3"
    if address.get_backend_name() != SQLITE or file.exists():
        return upgrade(url)
    if not kept.exists():
        upgrade(url)
        return _keep(kept, lambda unfinished: shutil.copy(file, unfinished))
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(kept, file)
    return None


def _shard(path: Path, dimensions: int) -> Shard:
    kept = KEPT / f"vectors-{dimensions}"
    if not kept.exists():
        _make(path, dimensions).close()
        entries = _entries(path)
        _keep(kept, lambda unfinished: unfinished.write_bytes(pickle.dumps(entries)))
    else:
        _lay_out(pickle.loads(kept.read_bytes()), path)
    return Shard(path)


def _keep(kept: Path, write: Callable[[Path], object]) -> None:
    """Write it atomically: other processes do the same."""
    unfinished = kept.with_name(f"{kept.name}.{uuid.uuid4().hex}")
    write(unfinished)
    unfinished.replace(kept)


def _entries(folder: Path) -> list[_Entry]:
    found = []
    for path in [folder, *sorted(folder.rglob("*"))]:
        about = path.stat()
        blocks = _blocks(path) if path.is_file() else []
        name, size = str(path.relative_to(folder)), -1 if path.is_dir() else about.st_size
        found.append(_Entry(name, stat.S_IMODE(about.st_mode), about.st_mtime_ns, size, blocks))
    return found


def _blocks(file: Path) -> list[tuple[int, bytes]]:
    content = file.read_bytes()
    cut = ((place, content[place : place + _BLOCK]) for place in range(0, len(content), _BLOCK))
    return [(place, block) for place, block in cut if block != _EMPTY[: len(block)]]


def _lay_out(entries: list[_Entry], folder: Path) -> None:
    for entry in entries:
        path = folder / entry.name
        if entry.size < 0:
            with suppress(FileExistsError):
                path.mkdir(parents=True)
        else:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, entry.mode)
            try:
                os.truncate(descriptor, entry.size)
                for place, block in entry.blocks:
                    os.pwrite(descriptor, block, place)
            finally:
                os.close(descriptor)
            # A seal compares this time to see whether a file is unchanged.
            os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))
        path.chmod(entry.mode)
