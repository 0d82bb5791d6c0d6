"""A vector index whose first generation uses a shard that is shared by the process, and is returned empty.

A new shard is 58 MB of files that are nearly all zeros: making one takes longer than most tests. The behaviour of an
index with files of its own is tested in tests/contracts/vectors.
"""

import math
import uuid
from pathlib import Path

from qdrant_edge import Filter, UpdateOperation

from openbrain.adapters.indexes.entries import same_dimensions
from openbrain.adapters.indexes.generation_folders import remove_folder
from openbrain.adapters.qdrant_edge.shard import Shard
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors

_USED_UP = 5000
"""Number of points written to a shard after which it is not lent again: removed points stay in its files."""
_FREE: dict[int, list[tuple[Shard, Path]]] = {}
"""Free shards, by dimensions."""


class LentVectors(QdrantEdgeVectors):
    """Like its base class, but a missing generation reuses a free shard of an earlier index."""

    def __init__(self, path: Path, shards: Path) -> None:
        """`shards`: the folder of the lent shards."""
        super().__init__(path)
        self._shards = shards
        self._lent: dict[str, Path] = {}

    async def prepare(self, name: str, dimensions: int) -> None:
        if name not in self._open and not (self._path / name).exists():
            free = _FREE.get(dimensions) or [self._new(dimensions)]
            self._open[name], self._lent[name] = free.pop()
        if name in self._lent:
            return same_dimensions(dimensions, self._shard(name).dimensions, name)
        return await super().prepare(name, dimensions)

    def _new(self, dimensions: int) -> tuple[Shard, Path]:
        path = self._shards / uuid.uuid4().hex
        return Shard.make(path, dimensions), path

    async def drop(self, name: str) -> None:
        await super().drop(name)
        if (path := self._lent.pop(name, None)) is not None:
            remove_folder(path)

    async def close(self) -> None:
        for name, path in self._lent.items():
            shard = self._open.pop(name)
            if shard._unflushed < _USED_UP:
                _empty(shard)
                _FREE.setdefault(shard.dimensions, []).append((shard, path))
            else:
                shard.close()
                remove_folder(path)
        self._lent.clear()
        await super().close()


def _empty(shard: Shard) -> None:
    shard._shard.update(UpdateOperation.delete_points_by_filter(Filter()))
    shard._none_before = -math.inf
    assert shard.count() == 0
