"""Opens a shard of qdrant-edge that may be damaged: uses the engine's errors, and checks what the engine does not."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qdrant_edge import EdgeShard, Filter, Query, QueryRequest, ScrollRequest

from openbrain.adapters.indexes.generation_folders import DamagedError, damaged
from openbrain.adapters.indexes.seal import Seal, break_seal
from openbrain.adapters.qdrant_edge.terms import TERMS
from openbrain.domain.errors import OpenBrainError, SetupError, TryLater

_PAGE = 500
"""Entries examined per page."""
_ID_TABLES = 2
"""The tables from ids to offsets and of each entry's version."""


def opened(path: Path, builder: str) -> tuple[EdgeShard, int]:
    """Return the shard and its dimensions. `SetupError` if another process has it or another builder made it,
    `DamagedError` if its files are not what was written."""
    try:
        made = json.loads((path / "generation.json").read_text())
        made_by, dimensions = made["builder"], int(made["dimensions"])
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise DamagedError("generation.json can't be read") from error
    if made_by != builder:
        raise SetupError(
            f"vector index {path.name} was made by builder {made_by}, this is {builder}: rebuild it under another name"
        )
    seal = break_seal(path)
    if seal is Seal.BROKEN:
        raise DamagedError("files are not as they were when it was closed")
    if seal is Seal.MISSING:
        _look_for_ids(path / "shard" / "segments")
    try:
        with engine():
            shard = EdgeShard.load(str(path / "shard"))
            if seal is Seal.MISSING:
                _examine(shard)
    except TryLater as error:
        if damaged(error):
            raise DamagedError(str(error)) from error
        raise
    return shard, dimensions


def _look_for_ids(segments: Path) -> None:
    """Check the id tables: a segment that was ever flushed states how many vectors it has, and has two tables of ids.
    The engine treats a segment that lacks one as empty."""
    for segment in segments.iterdir():
        flushed = segment / "vector_storage" / "vectors" / "status.dat"
        if flushed.exists() and any(flushed.read_bytes()) and len(list(segment.glob("*id_tracker*"))) < _ID_TABLES:
            raise DamagedError("a segment has lost its table of ids")


def _examine(shard: EdgeShard) -> None:
    """After a kill or power loss, check that each entry has its fields and its vector, and that a search finds one."""
    living: Any = None
    after = None
    while True:
        points, after = shard.scroll(ScrollRequest(offset=after, limit=_PAGE, with_payload=True, with_vector=True))
        for point in points:
            payload = point.payload or {}
            if "revision" not in payload or "mark" not in payload:
                raise DamagedError("an entry has lost its fields")
            if TERMS in payload:
                living = point.vector
                if not living or not any(living):
                    raise DamagedError("an entry has lost its vector")
        if after is None:
            break
    if living and not shard.query(
        QueryRequest(limit=1, query=Query.Nearest(living), filter=Filter(), with_payload=False)
    ):
        raise DamagedError("a search does not find its entries")


@contextmanager
def engine() -> Iterator[None]:
    """Translate errors of the engine, which has no exception classes of its own."""
    try:
        yield
    except (OpenBrainError, DamagedError):
        raise
    except BaseException as error:
        # The engine raises nothing more specific; its panics are not even an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if "WouldBlock" in str(error):
            raise SetupError(
                "the embedded vector index is open in another process: use that one, or set OPENBRAIN_VECTORS__URL "
                "to a server that several processes can share"
            ) from None
        raise TryLater(f"the embedded vector index failed: {error}") from None
