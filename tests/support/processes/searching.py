"""Searches for a word everywhere that a system could store it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from sqlalchemy import Connection

from openbrain.adapters.sql.schema.tables import metadata
from openbrain.adapters.sql.store import SqlStore

_BLOCK = 65_536
_EMPTY = bytes(_BLOCK)


def in_files(folder: Path, word: str) -> list[str]:
    """Return the files below `folder` that contain the word, in any encoding that our files or a server's use."""
    forms = [form for each in (word, word.lower()) for form in (each.encode(), each.encode("utf-16-le"))]
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if _holds(path, forms)]


def _holds(path: Path, forms: list[bytes]) -> bool:
    try:
        return any(form in part for part in _parts(path) for form in forms)
    except FileNotFoundError:
        return False


def _parts(path: Path) -> Iterator[bytes]:
    """Yield the file's content without long stretches of zeros, which are nearly all of an index. No word begins with a
    zero byte; in UTF-16 it may end with one."""
    part: list[bytes] = []
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            if block != _EMPTY[: len(block)]:
                part.append(block)
            elif part:
                yield b"".join([*part, b"\0"])
                part.clear()
    if part:
        yield b"".join(part)


async def in_tables(store: Any, word: str) -> list[str]:
    """Return the tables with a row that contains the word."""
    assert isinstance(store, SqlStore)

    def search(connection: Connection) -> list[str]:
        held = {str(table.name): connection.execute(table.select()).all() for table in metadata.sorted_tables}
        return [name for name, found in held.items() if word.lower() in repr([tuple(row) for row in found]).lower()]

    return await store._database.read(search)


async def in_streams(redis: Redis, word: str) -> list[str]:
    """Return the keys whose dump contains the word; the server must not compress (`rdbcompression no`)."""
    keys: list[Any] = await redis.keys("*")
    return sorted([key.decode() for key in keys if word.encode() in (await redis.dump(key) or b"")])
