"""Download of an export to a file. An interrupted download resumes after the last mark."""

import asyncio
import contextlib
import fcntl
import gzip
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from openbrain.client import OpenBrain
from openbrain.domain.errors import SetupError, TryLater
from openbrain.usecases.transfer.writing import footer_line
from openbrain_cli.memories.transfer.export_file import kind_of

ATTEMPTS = 5
"""Attempts in a row without progress before it gives up."""
_BEGINNING = b'{"kind":"header","format":"openbrain-export"'
_COUNTED = {"memory": "memories", "history": "history", "lineage": "lineage", "beside": "beside"}
_SAME = ("workspace_id", "whole", "filters")
Counts = dict[str, int]


class PartFile:
    """The file `<name>.part`, which is renamed when it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: Counts = dict.fromkeys(_COUNTED.values(), 0)
        self.whole = False
        self._digest = hashlib.sha256()
        self._header: dict[str, Any] | None = None
        self._file: BinaryIO | None = None

    def resume(self) -> str | None:
        """Truncate the file after its last mark. Return the mark's cursor, or None to start from the beginning."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        self._file = os.fdopen(descriptor, "r+b")
        if not _locked(descriptor, self.path):
            raise SetupError(f"another export writes {self.path} at this moment: wait for it, or choose another file")
        if not _BEGINNING.startswith(self._file.read(len(_BEGINNING))):
            raise SetupError(f"{self.path} is no beginning of an export: move it away, or choose another file")
        self._file.seek(0)
        cursor, end, digest, counts = None, 0, self._digest.copy(), dict(self.counts)
        offset = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            offset += len(line)
            self._count(line)
            if kind_of(line) == "mark":
                cursor, end = str(orjson.loads(line)["cursor"]), offset
                digest, counts = self._digest.copy(), dict(self.counts)
        self._digest, self.counts = digest, counts
        if cursor is None:
            self._header = None
        self._file.truncate(end)
        self._file.seek(end)
        return cursor

    def _count(self, line: bytes) -> None:
        kind = kind_of(line)
        if kind in _COUNTED:
            self.counts[_COUNTED[kind]] += 1
        elif kind == "header":
            self._header = orjson.loads(line)
        self._digest.update(line)

    async def take(self, parts: AsyncIterator[bytes], progress: Callable[[Counts], None]) -> None:
        """Write the received lines. Raise `TryLater` if the footer does not come."""
        digest = hashlib.sha256()
        rest = b""
        async for part in parts:
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                self._take(line + b"\n", digest)
            progress(self.counts)
        if not self.whole:
            raise TryLater("the export broke off before its end")

    def _take(self, line: bytes, digest: "hashlib._Hash") -> None:
        kind = kind_of(line)
        if kind == "footer":
            if orjson.loads(line)["digest"] != f"sha256:{digest.hexdigest()}":
                raise TryLater("the export was damaged on its way")
            self._write(footer_line(**self.counts, digest=self._digest.hexdigest()))
            self.whole = True
            return
        digest.update(line)
        if kind == "header" and self._header is not None:
            self._same(orjson.loads(line))
            return
        self._count(line)
        self._write(line)

    def _same(self, header: dict[str, Any]) -> None:
        if any(header.get(name) != (self._header or {}).get(name) for name in _SAME):
            raise SetupError(
                f"{self.path} is the beginning of another export (workspace, key or filters differ): remove it, or "
                "choose another file"
            )

    def _write(self, line: bytes) -> None:
        if self._file is not None:
            self._file.write(line)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def finish(self, target: Path, *, packed: bool) -> None:
        """Flush the file, compress it if `packed`, rename it to `target`, and close it."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
        if packed:
            _pack(self.path).replace(target)
            self.path.unlink()
        else:
            self.path.replace(target)
        self.close()


def _locked(descriptor: int, path: Path) -> bool:
    """Lock the file until it is closed. False if another process writes it, or has just finished and renamed it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _pack(path: Path) -> Path:
    """Compress the file into another one; return that."""
    packed = path.with_name(f"{path.name}.gz")
    descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with path.open("rb") as plain, os.fdopen(descriptor, "wb") as raw:
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6) as file:
            shutil.copyfileobj(plain, file, 1024 * 1024)
        raw.flush()
        os.fsync(raw.fileno())
    return packed


async def save(
    brain: OpenBrain, target: Path, filters: dict[str, Any], *, packed: bool, progress: Callable[[Counts], None]
) -> Counts:
    """Export into `target`, with retries that resume. After a failure the part file stays for the next command."""
    try:
        return await _saved(brain, target, filters, packed=packed, progress=progress)
    except OSError as error:
        raise SetupError(f"{error.filename or target} can't be written: {error.strerror}") from error


async def _saved(
    brain: OpenBrain, target: Path, filters: dict[str, Any], *, packed: bool, progress: Callable[[Counts], None]
) -> Counts:
    failures, before = 0, -1
    while True:
        with contextlib.closing(PartFile(target.with_name(f"{target.name}.part"))) as file:
            cursor = file.resume()
            try:
                async with contextlib.aclosing(brain.export(cursor=cursor, **filters)) as parts:
                    await file.take(parts, progress)
            except TryLater as error:
                failures = failures + 1 if file.counts["memories"] <= before else 1
                before = file.counts["memories"]
                if failures >= ATTEMPTS:
                    raise TryLater(
                        f"{error} ({before} memories are exported: repeat the command to continue)"
                    ) from error
                await asyncio.sleep(0.2 * 2**failures)
            else:
                file.finish(target, packed=packed)
                return file.counts
