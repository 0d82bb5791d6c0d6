"""The indexes of one kind in Elasticsearch, generation by generation: made, written behind the fence, read.

No scripts, no by-query calls, no reindexing: the fence is the document's external version.
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
BULK_BYTES = 1_000_000
"""Of one request: what aiohttp sends without holding up the event loop, and every proxy lets through."""

_log = structlog.get_logger(__name__)


class Generations(Generic[Entry]):
    """The base of the text index and of the vector index: the indexes `<alias>-…` of one kind. A generation `name` is
    the index of that name (the alias and a hyphen are put before a name that doesn't begin with them); the alias stands
    for the first one made, and so do the plain names that others read."""

    builder: str
    at_once = 2
    """While the server works on a request the next one is made."""

    def __init__(
        self, url: str, alias: str, refresh_ms: int, verify_tls: bool, timeout_s: float, plain: Sequence[str] = ()
    ) -> None:
        """`url` like http://host:9200. Nothing is connected yet."""
        self._client = connect(url, verify_tls=verify_tls, timeout_s=timeout_s)
        self._alias = alias
        self._plain = plain
        self._refresh = f"{refresh_ms}ms"

    @abstractmethod
    def _document(self, entry: Entry) -> dict[str, Any]:
        """The document of an entry that is no tombstone; what it raises fails that entry alone."""

    def index(self, name: str) -> str:
        """The index of a generation."""
        return name if name.startswith(f"{self._alias}-") else f"{self._alias}-{name}"

    async def _prepare(self, name: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make it if it is missing, with `properties` beside the common ones; returns the properties that stand.
        `SetupError` where it was made by another builder."""
        ours = {**COMMON_MAPPING, **properties}
        mappings = {"dynamic": "strict", "_meta": {"builder": self.builder}, "properties": ours}
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": self._refresh}
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
        standing: dict[str, Any] = existing["mappings"]["properties"]
        # Fields that an index of an earlier version lacks.
        if lacking := {field: ours[field] for field in ours if field not in standing}:
            with translated():
                await self._client.indices.put_mapping(index=index, properties=lacking)
        return standing

    async def _save_template(self) -> None:
        """So that nothing but `prepare` makes an index of ours: a write to one that was deleted fails."""
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
        """Add missing aliases; a plain name points where the alias points."""
        existing = await self._aliases()
        serving = next(iter(existing.get(self._alias, ())), index)
        missing = [name for name in (self._alias, *await self._own_names(existing)) if name not in existing]
        if missing:
            actions = [{"add": {"index": serving, "alias": name}} for name in missing]
            await self._client.indices.update_aliases(actions=actions)

    async def _aliases(self) -> Mapping[str, Sequence[str]]:
        """The indexes behind each of our names that is an alias."""
        # By patterns, so that an alias which nobody has is no error.
        names = (self._alias, *self._plain)
        indices = await self._client.indices.get_alias(name=[f"{name}*" for name in names])
        behind = {name: [index for index, of in indices.items() if name in of["aliases"]] for name in names}
        return {name: indexes for name, indexes in behind.items() if indexes}

    async def _is_taken(self, name: str) -> bool:
        """By an index, or by what this user may not see."""
        try:
            return bool(await self._client.indices.exists(index=name))
        except AuthorizationException:
            return True

    async def _own_names(self, existing: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """The plain names but for those that somebody else's index or alias has."""
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
        """Write fenced, in one bulk request for most batches, and wait until a refresh has made it visible, if it is to
        be; the entries that failed, by id."""
        failed: dict[str, Exception] = {}
        lines: dict[str, bytes] = {}
        for entry in highest_per_id(entries).values():
            try:
                lines[entry.id] = self._lines(entry)
            except (OpenBrainError, orjson.JSONEncodeError, ValueError) as error:
                failed[entry.id] = error if isinstance(error, OpenBrainError) else _unfit(error)
        with translated():
            # At once, so that they wait for the same refresh; all to their end, so that nothing runs on behind us.
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

    async def _bulk(self, index: str, lines: Mapping[str, bytes], *, visible: bool) -> dict[str, Exception]:
        """One request; where it is refused as a whole, its halves, so that one entry never hurts the others."""
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
            left = await self._bulk(index, dict(items[:half]), visible=visible)
            return left | await self._bulk(index, dict(items[half:]), visible=visible)
        if not answer["errors"]:
            return {}
        results = [item["index"] for item in answer["items"]]
        if any(result["status"] == 404 for result in results):
            raise missing()
        return {result["_id"]: _item_failure(result) for result in results if result["status"] not in {200, 201, 409}}

    async def _hits(self, name: str, searches: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """The hits of each search, with the memory's id at `fields.memory_id`; no document is read for it."""
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
        """The stored states of these ids, without waiting for a refresh."""
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
        """One aggregation."""
        return await reconciliation.sums(self._client, self.index(name))

    def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Page by page."""
        return reconciliation.in_buckets(self._client, self.index(name), buckets)

    def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Page by page."""
        return marks_of(self.in_buckets(name, range(BUCKETS)))

    async def highest(self, name: str) -> int:
        """One aggregation."""
        return await reconciliation.highest(self._client, self.index(name))

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Each only if it is still the tombstone that was found."""
        return await reconciliation.drop_tombstones(self._client, self.index(name), before)

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:
        """Merges away what was overwritten."""
        with translated():
            return await scrub(self._client, self.index(name), parts)

    async def expose(self, name: str) -> None:
        """Alias and plain names stand for this one alone; in one step, so that whoever reads one always finds it."""
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
        """Delete the index, if it is there."""
        with translated():
            await self._client.indices.delete(index=self.index(name), ignore_unavailable=True)

    async def check(self) -> Checked:
        """The server, its version, and what is wrong with it."""
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
    """Without the error's own words: they may quote the memory."""
    return Invalid("", f"the entry can't be written as JSON ({type(error).__name__})")


def _item_failure(result: Mapping[str, Any]) -> OpenBrainError:
    status, kind = result["status"], result["error"]["type"]
    if passing(status, kind):
        return TryLater(f"Elasticsearch could not take the entry now ({status} {kind})")
    return NeverRetry(f"Elasticsearch refuses the entry ({status} {kind})")
