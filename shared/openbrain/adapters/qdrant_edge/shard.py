"""One generation of the embedded vector index on disk: a shard of qdrant-edge, created completely or not at all.

Every call of the engine holds the GIL, so callers keep calls short.
"""

import json
import math
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeVectorParams,
    FieldCondition,
    Filter,
    IntegerIndexParams,
    PayloadSchemaType,
    PayloadSelector,
    Point,
    QuantizationSearchParams,
    Query,
    QueryBatchRequest,
    QueryRequest,
    RangeFloat,
    ScoredPoint,
    ScrollRequest,
    SearchParams,
    TurboQuantBitSize,
    TurboQuantQuantizationConfig,
    UpdateOperation,
)

from openbrain.adapters.indexes.generation_folders import same_folder
from openbrain.adapters.indexes.seal import close_with_seal
from openbrain.adapters.qdrant_edge.open_shard import engine, opened
from openbrain.adapters.qdrant_edge.terms import ABSENT, TERMS, WORDS, below, terms_of
from openbrain.domain.errors import TryLater
from openbrain.domain.ids import mark
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.index import EntryMarks, Standing, Tombstone, VectorEntry

BUILDER = "qdrant-edge-7"
MADE = "generation.json"
"""The file that identifies a generation; a folder without it is foreign or incomplete."""
VECTOR = ""
"""The unnamed vector: with a name, creating a point takes 9 us longer."""
FLUSH_POINTS = 20_000
"""Written points between flushes of the log. A flush blocks everything for some 0.2 s (more on a busy disk). It only
bounds what a start after a crash must replay: 2 s, 40 MB. A killed process loses no data either way."""
_NO_GRAPH = 10**9
"""Kilobytes of vectors before a graph is built: never, since building holds the GIL for minutes."""
_BITS = TurboQuantBitSize.Bits4
"""Bits per number in the scanned, quantized vectors: a fifth of the time of full vectors (2.3 ms instead of 10 to 11 at
100,000 points). The nearest are rescored with the full vectors, which give the final scores."""
_RESCORED, _RESCORED_LEAST = 3.0, 100
"""Oversampling: this many times the wanted passages, and at least this many, are rescored. Twice as many already find
1.000 of the nearest hundred, filtered or not; without oversampling .957.
"""
_PASSAGE = "5"
"""UUID version of passages other than 0 (`ids.point_id`)."""
_VERSION_AT = 14
"""The position of the version in a UUID."""
_BUCKETS = 2**16
"""More than the number of buckets: the value above it is the digest."""
_STANDING = ["revision", "mark", "memory_id"]
_AHEAD = 60 * MICROSECONDS
"""How far ahead to look for the next expiry."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A query to a shard."""

    vector: Sequence[float]
    condition: Filter
    passages: int
    memories: int
    """The number of different memories that is enough."""

    def request(self) -> QueryRequest:
        """Return the engine's request, for ids and scores only."""
        query = Query.Nearest(_numbers(self.vector))
        more = max(_RESCORED, _RESCORED_LEAST / self.passages)
        among = SearchParams(quantization=QuantizationSearchParams(rescore=True, oversampling=more))
        return QueryRequest(limit=self.passages, query=query, filter=self.condition, with_payload=False, params=among)


class Shard:
    """An open generation. Only one process at a time can open it."""

    def __init__(self, path: Path) -> None:
        """Open it; `SetupError` if another process has it or another builder made it."""
        self._path, self._inode = path, path.stat().st_ino
        self._shard, self.dimensions = opened(path, BUILDER)
        self._unflushed = 0
        self._none_before = -math.inf
        """No live entry expires before this."""

    @classmethod
    def make(cls, path: Path, dimensions: int) -> "Shard":
        """Create an empty one. An unfinished one left by a crash is replaced."""
        unfinished = path.with_name(f"{path.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700, parents=True)
        (unfinished / MADE).write_text(json.dumps({"builder": BUILDER, "dimensions": dimensions}))
        with engine():
            shard = EdgeShard.create(
                str(unfinished / "shard"),
                EdgeConfig(
                    vectors={VECTOR: _vectors(dimensions)},
                    optimizers=EdgeOptimizersConfig(indexing_threshold=_NO_GRAPH),
                    # There is only one segment to search: more threads have no work.
                    max_search_threads=1,
                ),
            )
            shard.update(UpdateOperation.create_field_index(TERMS, WORDS))
            shard.update(UpdateOperation.create_field_index("confidence", PayloadSchemaType.Float))
            for field in ("occurred_at", "expires_at", "removed_at"):
                shard.update(UpdateOperation.create_field_index(field, IntegerIndexParams(lookup=False, range=True)))
            shard.close()
        unfinished.rename(path)
        return cls(path)

    def gone(self) -> bool:
        """True if the opened folder was removed, emptied or replaced."""
        return not same_folder(self._path, self._inode, MADE)

    def upsert(self, entries: Sequence[VectorEntry | Tombstone]) -> None:
        """Write entries of one revision, with distinct ids. Stored entries with a higher revision are kept."""
        not_higher = FieldCondition(key="revision", range=RangeFloat(lte=entries[0].revision))
        expiries = (entry.fields.expires_at for entry in entries if isinstance(entry, VectorEntry))
        self._none_before = min((self._none_before, *expiries))
        with engine():
            points = [_point(entry) for entry in entries]
            self._shard.update(UpdateOperation.upsert_points(points, condition=Filter(must=[not_higher])))
            self._unflushed += len(points)
            if self._unflushed >= FLUSH_POINTS:
                self._shard.flush()
                self._unflushed = 0

    def nearest(self, queries: Sequence["Nearest"]) -> list[list[tuple[str, float]]]:
        """Return (memory id, cosine) of the nearest passages for each query, best first."""
        requests = [query.request() for query in queries]
        with engine():
            if len(requests) == 1:
                results = [self._shard.query(requests[0])]
            else:
                results = self._shard.query_batch(QueryBatchRequest(requests))
            return [self._owned(points, query.memories) for query, points in zip(queries, results, strict=True)]

    def _owned(self, points: list[ScoredPoint], memories: int) -> list[tuple[str, float]]:
        """Return the first `memories` passages; the others only if several passages of one memory may be among those.
        Reading an id costs more than finding its point."""
        first = [(str(point.id), point.score) for point in points[:memories]]
        # Reading a payload costs even more; passage 0 has its memory's id anyway.
        if not any(point[_VERSION_AT] == _PASSAGE for point, _ in first):
            return first
        scores = [*first, *((str(point.id), point.score) for point in points[memories:])]
        passages = (point for point, _ in scores if point[_VERSION_AT] == _PASSAGE)
        records = self._shard.retrieve(list(passages), PayloadSelector.Include(["memory_id"]), False)
        owners = {str(record.id): (record.payload or {}).get("memory_id", "") for record in records}
        return [(owners.get(point) or point, score) for point, score in scores]

    def any_expires_before(self, bound: float) -> bool:
        """True if a live entry expires before `bound`. Nearly always known without asking the engine."""
        if bound <= self._none_before:
            return False
        for ahead in (bound + _AHEAD, bound):
            if not self._expires_before(ahead):
                self._none_before = ahead
                return False
        return True

    def _expires_before(self, bound: float) -> bool:
        with engine():
            return self._shard.count(CountRequest(filter=Filter(must=[below("expires_at", bound)]), exact=True)) > 0

    def standing(self, ids: Sequence[str]) -> dict[str, Standing]:
        """Return the stored states of these ids."""
        with engine():
            records = self._shard.retrieve(list(ids), True, False)
        return {str(record.id): _standing(str(record.id), record.payload or {}) for record in records}

    def count(self) -> int:
        """Return the number of points, tombstones included."""
        with engine():
            return self._shard.count(CountRequest(exact=True))

    def numbers(self, field: str, after: str | None, limit: int) -> tuple[list[int], str | None]:
        """Return `revision` or `mark` of the next points in id order, and the cursor; None at the end."""
        stored, following = self._scroll([field], after, limit)
        return [payload[field] for _, payload in stored], following

    def entry_marks(self, after: str | None, limit: int) -> tuple[EntryMarks, str | None]:
        """Return the marks of the next points, and the cursor; None at the end."""
        stored, following = self._scroll(["mark"], after, limit)
        living = [mark(*parts(payload["mark"])) for _, payload in stored if payload["mark"] >= _BUCKETS]
        removed = [point for point, payload in stored if payload["mark"] < _BUCKETS]
        return EntryMarks(living, list(self.standing(removed).values()) if removed else ()), following

    def in_buckets(self, buckets: Collection[int], after: str | None, limit: int) -> tuple[list[Standing], str | None]:
        """Return the entries of these buckets among the next points, and the cursor."""
        stored, following = self._scroll(_STANDING, after, limit)
        return [_standing(*item) for item in stored if item[1]["mark"] % _BUCKETS in buckets], following

    def _scroll(
        self, fields: list[str], after: str | None, limit: int
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        """Return id and these fields of the next points in id order, and the cursor; None at the end."""
        request = ScrollRequest(offset=after, limit=limit, with_payload=PayloadSelector.Include(fields))
        with engine():
            points, following = self._shard.scroll(request)
            stored = [(str(point.id), point.payload or {}) for point in points]
        return stored, None if following is None else str(following)

    def drop_tombstones(self, before: int) -> int:
        """Remove old tombstones. Live entries have no `removed_at`."""
        old = Filter(must=[FieldCondition(key="removed_at", range=RangeFloat(lt=before))])
        with engine():
            count = self._shard.count(CountRequest(filter=old, exact=True))
            if count:
                self._shard.update(UpdateOperation.delete_points_by_filter(old))
        return count

    def close(self) -> None:
        """Flush the log and close. Ignore errors if the files were removed."""
        try:
            with engine():
                self._shard.flush()
                self._shard.close()
        except TryLater:
            if not self.gone():
                raise
            return
        if not self.gone():
            close_with_seal(self._path)

    def let_go(self) -> None:
        """Release the shard without flushing the log, which a full disk has no room for: the next start replays it."""
        del self._shard


def _vectors(dimensions: int) -> EdgeVectorParams:
    scanned = TurboQuantQuantizationConfig(bits=_BITS)
    return EdgeVectorParams(dimensions, Distance.Cosine, quantization_config=scanned)


def _point(entry: VectorEntry | Tombstone) -> Point:
    return Point(entry.id, {} if isinstance(entry, Tombstone) else _numbers(entry.vector), payload_of(entry))


def payload_of(entry: VectorEntry | Tombstone) -> dict[str, Any]:
    """Return the payload of a point."""
    # Each value costs some 4 us: bucket and digest, which no filter uses, share one.
    payload: dict[str, Any] = {"revision": entry.revision, "mark": entry.bucket}
    if entry.id != entry.memory_id:
        payload["memory_id"] = entry.memory_id
    if isinstance(entry, Tombstone):
        if entry.at:
            payload["removed_at"] = entry.at
        return payload
    fields = entry.fields
    payload["mark"] += entry.digest * _BUCKETS
    payload[TERMS] = terms_of(fields)
    payload["occurred_at"] = fields.occurred_at
    if fields.confidence != ABSENT["confidence"]:
        payload["confidence"] = fields.confidence
    if fields.expires_at != ABSENT["expires_at"]:
        payload["expires_at"] = fields.expires_at
    return payload


def parts(mark: int) -> tuple[int, int]:
    """Split a mark into bucket and digest; a tombstone's digest is 0."""
    return mark % _BUCKETS, mark // _BUCKETS


def _numbers(vector: Sequence[float]) -> Any:
    """Return the vector as it is: the engine reads arrays fastest, but its type hints allow only lists."""
    return vector


def _standing(entry_id: str, payload: dict[str, Any]) -> Standing:
    bucket, digest = parts(payload["mark"])
    return Standing(
        id=entry_id,
        memory_id=payload.get("memory_id", entry_id),
        revision=payload["revision"],
        bucket=bucket,
        digest=digest,
        tombstone=not digest,
    )
