"""Opening a shard of qdrant-edge that may be damaged: an error where the engine says so, and a look where it can't."""

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
"""Entries looked at at once."""
_ID_TABLES = 2
"""From ids to places, and the version of each entry."""


def opened(path: Path, builder: str) -> tuple[EdgeShard, int]:
    """The shard and its dimensions. `SetupError` where another process has it or another builder made it,
    `DamagedError` where it is not what was written."""
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
    """A segment that was ever flushed says how many vectors it has, and has two tables of ids: without one of them the
    engine takes it for empty."""
    for segment in segments.iterdir():
        flushed = segment / "vector_storage" / "vectors" / "status.dat"
        if flushed.exists() and any(flushed.read_bytes()) and len(list(segment.glob("*id_tracker*"))) < _ID_TABLES:
            raise DamagedError("a segment has lost its table of ids")


def _examine(shard: EdgeShard) -> None:
    """After a kill or a loss of power: whether each entry has its fields and its vector, and is found by it."""
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
        raise DamagedError("what stands in it is not found")


@contextmanager
def engine() -> Iterator[None]:
    """The engine's errors as ours: it has no classes of its own."""
    try:
        yield
    except (OpenBrainError, DamagedError):
        raise
    except BaseException as error:
        # The engine raises nothing narrower, and where it panics it's no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if "WouldBlock" in str(error):
            raise SetupError(
                "the embedded vector index is open in another process: use that one, or set OPENBRAIN_VECTORS__URL "
                "to a server that several processes can share"
            ) from None
        raise TryLater(f"the embedded vector index failed: {error}") from None
