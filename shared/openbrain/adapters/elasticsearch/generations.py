"""The indexes of one kind in Elasticsearch, one per generation: created, written with the fence, read.

No scripts, by-query calls or reindexing: the fence is the document's external version.
"""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import Any, Generic

import orjson
import structlog
from elasticsearch import ApiError, AuthorizationException, BadRequestError

from openbrain.adapters.elasticsearch import reconciliation
from openbrain.adapters.elasticsearch.connection import (
    COMMON_MAPPING,
    connect,
    missing,
    passing,
    refused,
    tombstone_document,
    translated,
)
from openbrain.adapters.elasticsearch.removed_documents import scrub
from openbrain.adapters.indexes.entries import Entry, highest_per_id
from openbrain.adapters.indexes.entry_marks import marks_of
from openbrain.domain.errors import Invalid, NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.domain.ids import BUCKETS
from openbrain.ports.index import Checked, EntryMarks, Scrubbed, Standing, Sum, Tombstone

OLDEST = (8, 19)
_IDS_ALONE = {
    "stored_fields": "_none_",
    "docvalue_fields": [{"field": "memory_id"}],
    "track_total_hits": False,
}
_UNMAPPED = "strict_dynamic_mapping_exception"
BULK_BYTES = 1_000_000
"""Maximum bytes per request: aiohttp sends it without delaying the event loop, and every proxy accepts it."""

_log = structlog.get_logger(__name__)


class Generations(Generic[Entry]):
    """Base of the text index and of the vector index: the indexes `<alias>-…` of one kind. Generation `name` is the
    index of that name, with the alias and a hyphen as prefix if it lacks them. The alias, and the plain names for other
    readers, point to the first one created, until `expose` moves them."""

    builder: str
    fields: Mapping[str, Any] = COMMON_MAPPING
    """Properties of every index of the kind."""
    analysis: Mapping[str, Any] = {}
    """Analyzers of every index of the kind."""
    at_once = 2
    """The next request is prepared while the server works on one."""

    def __init__(
        self, url: str, alias: str, refresh_ms: int, verify_tls: bool, timeout_s: float, plain: Sequence[str] = ()
    ) -> None:
        """`url` like http://host:9200. Does not connect yet."""
        self._client = connect(url, verify_tls=verify_tls, timeout_s=timeout_s)
        self._alias = alias
        self._plain = plain
        self._refresh = f"{refresh_ms}ms"

    @abstractmethod
    def _document(self, entry: Entry) -> dict[str, Any]:
        """Return the document of an entry (no tombstone); an exception fails only this entry."""

    def index(self, name: str) -> str:
        """Return the index name of a generation."""
        return name if name.startswith(f"{self._alias}-") else f"{self._alias}-{name}"

    async def _prepare(self, name: str, properties: Mapping[str, Any] = {}) -> Mapping[str, Any]:
        """Create the index, with `fields` and `properties`, if it is missing. Return the properties of the existing
        index. `SetupError` if another builder made it."""
        ours = {**self.fields, **properties}
        mappings = {"dynamic": "strict", "_meta": {"builder": self.builder}, "properties": ours}
        settings = {
            "number_of_shards": 1,
            "auto_expand_replicas": "0-1",
            "refresh_interval": self._refresh,
            "analysis": self.analysis,
        }
        index = self.index(name)
        with translated():
            await self._save_template()
            if not await self._client.indices.exists(index=index):
                await self._create(index, mappings, settings)
            await self._client.cluster.health(index=index, wait_for_status="yellow", timeout="5s")
            existing = (await self._client.indices.get(index=index)).body[index]
            await self._keep_refresh(index, existing)
            await self._keep_aliases(index)
        made_by = existing["mappings"].get("_meta", {}).get("builder")
        if made_by != self.builder:
            raise SetupError(
                f"index {index} was made by builder {made_by}, this is {self.builder}: rebuild it under another name"
            )
        if existing["settings"]["index"].get("analysis", {}).keys() != self.analysis.keys():
            _log.warning(
                "elasticsearch.other_words", index=index, message="until `openbrain reindex --text` it is as it was"
            )
        standing: dict[str, Any] = existing["mappings"]["properties"]
        with translated():
            await self._add_lacking(index, ours, standing)
        return standing

    async def _add_lacking(self, index: str, ours: Mapping[str, Any], standing: Mapping[str, Any]) -> None:
        """Add the fields that an index of an earlier version lacks."""
        if lacking := {field: ours[field] for field in ours if field not in standing}:
            await self._client.indices.put_mapping(index=index, properties=lacking)

    async def _save_template(self) -> None:
        """Forbid automatic creation of our indexes: only `prepare` creates one, and a write to a deleted one fails."""
        await self._client.indices.put_index_template(
            name=self._alias,
            index_patterns=[f"{self._alias}-*"],
            priority=500,
            allow_auto_create=False,
            template={"settings": {"refresh_interval": self._refresh}, "mappings": {"dynamic": "strict"}},
        )

    async def _create(self, index: str, mappings: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        try:
            await self._client.indices.create(index=index, mappings=mappings, settings=settings)
        except BadRequestError as error:
            if error.error != "resource_already_exists_exception":
                raise

    async def _keep_refresh(self, index: str, existing: Mapping[str, Any]) -> None:
        if existing["settings"]["index"].get("refresh_interval") != self._refresh:
            await self._client.indices.put_settings(index=index, settings={"refresh_interval": self._refresh})

    async def _keep_aliases(self, index: str) -> None:
        """Add missing aliases; a plain name points to the same index as the alias."""
        existing = await self._aliases()
        serving = next(iter(existing.get(self._alias, ())), index)
        missing = [name for name in (self._alias, *await self._own_names(existing)) if name not in existing]
        if missing:
            actions = [{"add": {"index": serving, "alias": name}} for name in missing]
            await self._client.indices.update_aliases(actions=actions)

    async def _aliases(self) -> Mapping[str, Sequence[str]]:
        """Return the indexes of each of our names that is an alias."""
        # Use patterns, since a name that is no alias would be an error.
        names = (self._alias, *self._plain)
        indices = await self._client.indices.get_alias(name=[f"{name}*" for name in names])
        behind = {name: [index for index, of in indices.items() if name in of["aliases"]] for name in names}
        return {name: indexes for name, indexes in behind.items() if indexes}

    async def _is_taken(self, name: str) -> bool:
        """True if an index has this name, or this user may not see it."""
        try:
            return bool(await self._client.indices.exists(index=name))
        except AuthorizationException:
            return True

    async def _own_names(self, existing: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Return the plain names, without those of foreign indexes or aliases."""
        own = []
        for name in self._plain:
            others = [index for index in existing.get(name, ()) if not index.startswith(f"{self._alias}-")]
            if others or (name not in existing and await self._is_taken(name)):
                _log.warning("elasticsearch.name_taken", name=name, message="another index has it: it stays as it is")
            else:
                own.append(name)
        return own

    async def write(
        self, name: str, entries: Sequence[Entry | Tombstone], *, visible: bool = True
    ) -> dict[str, Exception]:
        """Write with the fence, in one bulk request for most batches. If `visible`, wait until a refresh made the
        entries visible. Return the entries that failed, by id."""
        failed: dict[str, Exception] = {}
        lines: dict[str, bytes] = {}
        for entry in highest_per_id(entries).values():
            try:
                lines[entry.id] = self._lines(entry)
            except (OpenBrainError, orjson.JSONEncodeError, ValueError) as error:
                failed[entry.id] = error if isinstance(error, OpenBrainError) else _unfit(error)
        with translated():
            # In parallel, so that they wait for the same refresh; wait for all, so that none continues after we return.
            bulks = [self._bulk(self.index(name), part, visible=visible) for part in _parts(lines)]
            for answer in await asyncio.gather(*bulks, return_exceptions=True):
                if isinstance(answer, BaseException):
                    raise answer
                failed |= answer
        return failed

    def _lines(self, entry: "Entry | Tombstone") -> bytes:
        document = tombstone_document(entry) if isinstance(entry, Tombstone) else self._document(entry)
        action = {"index": {"_id": entry.id, "version": entry.revision, "version_type": "external_gte"}}
        return orjson.dumps(action) + b"\n" + orjson.dumps(document)

    async def _bulk(
        self, index: str, lines: Mapping[str, bytes], *, visible: bool, mapped: bool = False
    ) -> dict[str, Exception]:
        """Send one request. If it is refused as a whole, retry its halves, so that one bad entry does not fail the
        others. `mapped`: the index has all our fields."""
        operations: Sequence[Any] = list(lines.values())
        try:
            answer = await self._client.bulk(
                index=index, operations=operations, refresh="wait_for" if visible else False
            )
        except ApiError as error:
            if error.meta.status not in {400, 413}:
                raise
            reason = refused(error.meta.status, str(error.error))
            if isinstance(reason, SetupError | TryLater):
                raise reason from None
            if len(lines) == 1:
                return dict.fromkeys(lines, reason)
            items = list(lines.items())
            half = len(items) // 2
            left = await self._bulk(index, dict(items[:half]), visible=visible, mapped=mapped)
            return left | await self._bulk(index, dict(items[half:]), visible=visible, mapped=mapped)
        if not answer["errors"]:
            return {}
        results = [item["index"] for item in answer["items"]]
        if any(result["status"] == 404 for result in results):
            raise missing()
        failed = {result["_id"]: result for result in results if result["status"] not in {200, 201, 409}}
        unmapped = {item: lines[item] for item in failed if failed[item]["error"]["type"] == _UNMAPPED}
        failures: dict[str, Exception] = {item: _item_failure(result) for item, result in failed.items()}
        if not unmapped or mapped:
            return failures
        # A process of an earlier version created the index again, as during a rolling upgrade.
        existing = (await self._client.indices.get_mapping(index=index)).body[index]["mappings"]["properties"]
        await self._add_lacking(index, self.fields, existing)
        return {
            **{item: error for item, error in failures.items() if item not in unmapped},
            **await self._bulk(index, unmapped, visible=visible, mapped=True),
        }

    async def _hits(self, name: str, searches: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """Return the hits of each search, with the memory's id in `fields.memory_id`; no document is loaded for it."""
        if not searches:
            return []
        lines: list[Mapping[str, Any]] = []
        for search in searches:
            lines += ({"allow_partial_search_results": False}, {**_IDS_ALONE, **search})
        with translated():
            answer = await self._client.msearch(index=self.index(name), searches=lines)
        for answered in answer["responses"]:
            if "error" in answered:
                raise refused(answered["status"], answered["error"]["type"])
        return [item["hits"]["hits"] for item in answer["responses"]]

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """Return the stored states of these ids, without waiting for a refresh."""
        if not ids:
            return {}
        with translated():
            answer = await self._client.mget(
                index=self.index(name), ids=list(dict.fromkeys(ids)), source=reconciliation.STANDING
            )
        for kind in {item["error"]["type"] for item in answer["docs"] if "error" in item}:
            raise missing() if kind == "index_not_found_exception" else refused(503, kind)
        return {item["_id"]: Standing(id=item["_id"], **item["_source"]) for item in answer["docs"] if item["found"]}

    async def sums(self, name: str, *, digests: bool = True) -> Mapping[int, Sum]:  # noqa: ARG002 - the port's
        """Sum up with one aggregation."""
        return await reconciliation.sums(self._client, self.index(name))

    def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Yield the entries of these buckets page by page."""
        return reconciliation.in_buckets(self._client, self.index(name), buckets)

    def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Yield the marks page by page."""
        return marks_of(self.in_buckets(name, range(BUCKETS)))

    async def highest(self, name: str) -> int:
        """Return the highest revision with one aggregation."""
        return await reconciliation.highest(self._client, self.index(name))

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Delete old tombstones, each only if it has not changed since it was found."""
        return await reconciliation.drop_tombstones(self._client, self.index(name), before)

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:
        """Merge overwritten documents away."""
        with translated():
            return await scrub(self._client, self.index(name), parts)

    async def expose(self, name: str) -> None:
        """Point alias and plain names to this generation only, in one atomic request: a reader always finds an
        index."""
        index = self.index(name)
        with translated():
            existing = await self._aliases()
            aliases = (self._alias, *await self._own_names(existing))
            away = [
                {"remove": {"index": item, "alias": alias}}
                for alias in aliases
                for item in existing.get(alias, ())
                if item != index
            ]
            added = [{"add": {"index": index, "alias": alias}} for alias in aliases]
            await self._client.indices.update_aliases(actions=[*added, *away])

    async def drop(self, name: str) -> None:
        """Delete the index, if it exists."""
        with translated():
            await self._client.indices.delete(index=self.index(name), ignore_unavailable=True)

    async def check(self) -> Checked:
        """Report the server's version and problems."""
        with translated():
            info = await self._client.info()
            health = await self._client.cluster.health()
        version = str(info["version"]["number"])
        problems = []
        if tuple(int(part) for part in version.partition("-")[0].split(".")[:2]) < OLDEST:
            problems.append(f"version {version} is older than {'.'.join(map(str, OLDEST))}: upgrade it")
        if health["status"] == "red":
            problems.append("its status is red: some shards are lost or not started")
        return Checked("Elasticsearch", version, tuple(problems))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _parts(lines: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    part: dict[str, bytes] = {}
    size = 0
    for entry_id, line in lines.items():
        if part and size + len(line) > BULK_BYTES:
            yield part
            part, size = {}, 0
        part[entry_id] = line
        size += len(line) + 1
    if part:
        yield part


def _unfit(error: Exception) -> Invalid:
    """Return the error without the original message, which may quote the memory."""
    return Invalid("", f"the entry can't be written as JSON ({type(error).__name__})")


def _item_failure(result: Mapping[str, Any]) -> OpenBrainError:
    status, kind = result["status"], result["error"]["type"]
    if passing(status, kind):
        return TryLater(f"Elasticsearch could not take the entry now ({status} {kind})")
    return NeverRetry(f"Elasticsearch refuses the entry ({status} {kind})")
