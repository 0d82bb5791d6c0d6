"""Vectors on a Qdrant server (1.16 or later), over REST."""

import asyncio
import math
from array import array
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from openbrain.adapters.qdrant_errors import translated
from openbrain.adapters.qdrant_filters import VECTOR, compiled, not_higher, point
from openbrain.adapters.vector_entries import Passages, best_passages, same_dimensions, writable
from openbrain.errors import NeverRetry, SetupError, TryLater
from openbrain.ports.index import Checked, Failed, Hit, Scrubbed, Standing, Sum, Tombstone, VectorEntry, VectorSearch
from openbrain.visibility import KEYWORD_FIELDS, AllOf

BUILDER = "qdrant-2"
OLDEST = (1, 16)
POINTS = 128
"""Of one request: about 2 MB with 768 numbers each, and some 10 ms of the event loop to write as JSON."""

PAGE = 1000
"""Points of one answer to a scroll."""
_STANDING = ["memory_id", "revision", "bucket", "digest"]

# Graphs are built for each workspace alone; the other fields narrow a walk through one.
_KEYWORD = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, enable_hnsw=False)
_INTEGER = models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, enable_hnsw=False)
_INDEXES: Mapping[str, Any] = {
    **dict.fromkeys((*KEYWORD_FIELDS, "memory_id"), _KEYWORD),
    "workspace_id": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "confidence": models.FloatIndexParams(type=models.FloatIndexType.FLOAT, enable_hnsw=False),
    **dict.fromkeys(("occurred_at", "expires_at", "removed_at", "revision", "bucket"), _INTEGER),
}


class QdrantVectors:
    """The collections `<collection>-…`: a generation `name` is the collection of that name (the first part and a
    hyphen are put before a name that doesn't begin with them). The alias `<collection>-vectors` stands for the first
    one made."""

    builder = BUILDER
    at_once = 2

    def __init__(
        self,
        url: str | Callable[[], AsyncQdrantClient],
        collection: str,
        api_key: str = "",
        verify_tls: bool = True,
        timeout_s: float = 10,
    ) -> None:
        """`url` like http://host:6333, or what makes a client. Nothing is connected yet."""
        self._client = _client(url, api_key, verify_tls, timeout_s) if isinstance(url, str) else url()
        self._first_part = collection
        self._dimensions: dict[str, int] = {}

    def collection(self, name: str) -> str:
        """The collection of a generation."""
        return name if name.startswith(f"{self._first_part}-") else f"{self._first_part}-{name}"

    async def prepare(self, name: str, dimensions: int) -> None:
        """Make collection, payload indexes and alias where they are missing; `SetupError` where dimensions differ."""
        collection = self.collection(name)
        with translated():
            if not await self._client.collection_exists(collection):
                await self._create(collection, dimensions)
        same_dimensions(dimensions, await self._standing_dimensions(name), collection)
        with translated():
            indexed = (await self._client.get_collection(collection)).payload_schema
            for field, schema in _INDEXES.items():
                if field in indexed:
                    continue
                await self._client.create_payload_index(collection, field, field_schema=schema, wait=True)
            await self._keep_alias(collection)

    async def _create(self, collection: str, dimensions: int) -> None:
        """Every request names a workspace, so that no graph over all of them is needed."""
        try:
            await self._client.create_collection(
                collection,
                vectors_config={VECTOR: models.VectorParams(size=dimensions, distance=models.Distance.COSINE)},
                hnsw_config=models.HnswConfigDiff(m=0, payload_m=16),
            )
        except UnexpectedResponse:
            # Another process was faster, or it is refused for a reason that stands.
            if not await self._client.collection_exists(collection):
                raise

    async def _keep_alias(self, collection: str) -> None:
        alias = f"{self._first_part}-vectors"
        aliases = (await self._client.get_aliases()).aliases
        if all(each.alias_name != alias for each in aliases):
            create = models.CreateAlias(collection_name=collection, alias_name=alias)
            await self._client.update_collection_aliases([models.CreateAliasOperation(create_alias=create)])

    async def _standing_dimensions(self, name: str) -> int:
        if name not in self._dimensions:
            collection = self.collection(name)
            with translated():
                if not await self._client.collection_exists(collection):
                    raise TryLater(f"collection {collection} is missing: restart the room to make it, then reindex")
                info = await self._client.get_collection(collection)
            vectors = info.config.params.vectors
            if not isinstance(vectors, dict) or VECTOR not in vectors:
                raise SetupError(
                    f"collection {collection} was not made by OpenBrain: set OPENBRAIN_VECTORS__COLLECTION"
                )
            self._dimensions[name] = vectors[VECTOR].size
        return self._dimensions[name]

    async def write(self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True) -> Failed:  # noqa: ARG002 - the port's
        """On return the server has applied and logged it."""
        fit, failed = writable(entries, await self._standing_dimensions(name))
        for start in range(0, len(fit), POINTS):
            failed |= await self._upsert(self.collection(name), fit[start : start + POINTS])
            await asyncio.sleep(0)
        return failed

    async def _upsert(self, collection: str, entries: Sequence[VectorEntry | Tombstone]) -> dict[str, Exception]:
        """One request; where it is refused as a whole, its halves, so that one entry never hurts the others."""
        try:
            with translated():
                await self._client.batch_update_points(
                    collection, list(_operations(entries)), wait=True, ordering=models.WriteOrdering.MEDIUM
                )
        except NeverRetry as error:
            if len(entries) == 1:
                return {entries[0].id: error}
            half = len(entries) // 2
            return await self._upsert(collection, entries[:half]) | await self._upsert(collection, entries[half:])
        return {}

    async def search(self, name: str, vector: "array[float]", condition: AllOf, limit: int) -> Sequence[Hit]:
        """Nearest passages within the condition, the best of each memory."""
        return (await self.search_many(name, (VectorSearch(vector, condition, limit),)))[0]

    async def search_many(self, name: str, searches: Sequence[VectorSearch]) -> Sequence[Sequence[Hit]]:
        """One request for all."""
        collection = self.collection(name)
        for each in searches:
            same_dimensions(len(each.vector), await self._standing_dimensions(name), collection)
        filters = {condition: compiled(condition) for condition in {each.condition for each in searches}}

        async def ask(wanted: Mapping[int, int]) -> Sequence[Passages]:
            requests = [
                models.QueryRequest(
                    query=searches[place].vector.tolist(),
                    using=VECTOR,
                    filter=filters[searches[place].condition],
                    limit=passages,
                    with_payload=models.PayloadSelectorInclude(include=["memory_id"]),
                )
                for place, passages in wanted.items()
            ]
            with translated():
                answers = await self._client.query_batch_points(collection, requests=requests)
            return [[((each.payload or {})["memory_id"], each.score) for each in found.points] for found in answers]

        return await best_passages(ask, [each.limit for each in searches])

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """What stands under the ids."""
        await self._standing_dimensions(name)
        with translated():
            records = await self._client.retrieve(
                self.collection(name),
                list(dict.fromkeys(ids)),
                with_payload=models.PayloadSelectorInclude(include=_STANDING),
            )
        return {str(each.id): _standing(str(each.id), each.payload or {}) for each in records}

    async def sums(self, name: str) -> Mapping[int, Sum]:
        """Every point's bucket and digest come here."""
        found: dict[int, tuple[int, int, int]] = {}
        async for records in self._scroll(name, ["bucket", "digest"]):
            for payload in (each.payload or {} for each in records):
                entries, digests, removed = found.get(payload["bucket"], (0, 0, 0))
                digest = payload.get("digest")
                counted = (
                    (entries, digests, removed + 1) if digest is None else (entries + 1, digests + digest, removed)
                )
                found[payload["bucket"]] = counted
        return {bucket: Sum(*each) for bucket, each in found.items()}

    async def in_buckets(self, name: str, buckets: Collection[int]) -> Sequence[Standing]:
        """By the index of the field."""
        within = models.FieldCondition(key="bucket", match=models.MatchAny(any=sorted(buckets)))
        found: list[Standing] = []
        async for records in self._scroll(name, _STANDING, models.Filter(must=[within])):
            found += [_standing(str(each.id), each.payload or {}) for each in records]
        return found

    async def highest(self, name: str) -> int:
        """By the index of the field."""
        await self._standing_dimensions(name)
        with translated():
            found, _ = await self._client.scroll(
                self.collection(name),
                limit=1,
                order_by=models.OrderBy(key="revision", direction=models.Direction.DESC),
                with_payload=models.PayloadSelectorInclude(include=["revision"]),
            )
        return max(((each.payload or {})["revision"] for each in found), default=0)

    async def drop_tombstones(self, name: str, before: int) -> int:
        """What lives has no such time, so that none of it can be meant."""
        await self._standing_dimensions(name)
        old = models.Filter(must=[models.FieldCondition(key="removed_at", range=models.Range(lt=before))])
        with translated():
            count = (await self._client.count(self.collection(name), count_filter=old, exact=True)).count
            if count:
                await self._client.delete(self.collection(name), models.FilterSelector(filter=old), wait=True)
        return count

    async def _scroll(
        self, name: str, fields: list[str], within: models.Filter | None = None
    ) -> AsyncIterator[Sequence[models.Record]]:
        await self._standing_dimensions(name)
        after: Any = None
        while True:
            with translated():
                records, after = await self._client.scroll(
                    self.collection(name),
                    scroll_filter=within,
                    limit=PAGE,
                    offset=after,
                    with_payload=models.PayloadSelectorInclude(include=fields),
                )
            yield records
            if after is None:
                return

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:  # noqa: ARG002 - the port's
        """It holds no text, but tags and other names; its optimizer rewrites segments when it sees fit."""
        left = "names and vectors of overwritten points stay in a segment until the server's optimizer rewrites it"
        return Scrubbed(told={"product": "Qdrant", "holds": "no text", "left_to_the_operator": [left]})

    async def expose(self, name: str) -> None:
        """The alias stands for this one; in one step."""
        alias = f"{self._first_part}-vectors"
        with translated():
            standing = {each.alias_name for each in (await self._client.get_aliases()).aliases}
            gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            made = models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=self.collection(name), alias_name=alias)
            )
            await self._client.update_collection_aliases([gone, made] if alias in standing else [made])

    async def drop(self, name: str) -> None:
        """Delete the collection, if it is there."""
        with translated():
            await self._client.delete_collection(self.collection(name))
        self._dimensions.pop(name, None)

    async def check(self) -> Checked:
        """The server's version; one without conditional writes is a problem."""
        with translated():
            version = (await self._client.info()).version
        old = tuple(int(part) for part in version.partition("-")[0].split(".")[:2]) < OLDEST
        problem = f"version {version} is older than {'.'.join(map(str, OLDEST))} and can't fence writes: upgrade it"
        return Checked("Qdrant", version, (problem,) if old else ())

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _client(url: str, api_key: str, verify_tls: bool, timeout_s: float) -> AsyncQdrantClient:
    return AsyncQdrantClient(
        url=url,
        api_key=api_key or None,
        timeout=math.ceil(timeout_s),
        verify=verify_tls,
        # It would connect here and now; `check` says what is wrong with the server's version.
        check_compatibility=False,
    )


def _operations(entries: Sequence[VectorEntry | Tombstone]) -> Iterator[models.UpsertOperation]:
    """One conditional upsert for each revision: a condition holds for all points of an upsert."""
    for revision, same in groupby(entries, key=lambda entry: entry.revision):
        points = [point(entry) for entry in same]
        yield models.UpsertOperation(upsert=models.PointsList(points=points, update_filter=not_higher(revision)))


def _standing(entry_id: str, payload: Mapping[str, Any]) -> Standing:
    return Standing(
        id=entry_id,
        memory_id=payload["memory_id"],
        revision=payload["revision"],
        bucket=payload["bucket"],
        digest=payload.get("digest", 0),
        tombstone="digest" not in payload,
    )
