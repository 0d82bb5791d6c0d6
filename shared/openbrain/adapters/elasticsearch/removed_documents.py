"""Removes overwritten documents from Elasticsearch. They stay in the translog until a flush and in segments until a
merge. A retention lease keeps them through every merge, for hours, as long as a replica may still request them."""

from collections.abc import Mapping, Sequence
from typing import Any

from elasticsearch import AsyncElasticsearch

from openbrain.ports.index import Scrubbed

MERGE_S = 600
_HURRY: Mapping[str, Any] = {
    # A lease is renewed after half of its period; the server checks every 30 seconds.
    "index.soft_deletes.retention_lease.period": "1s",
    # Otherwise segments with few deletions are not merged.
    "index.merge.policy.expunge_deletes_allowed": 0,
}


async def scrub(client: AsyncElasticsearch, index: str, parts: Sequence[str] | None) -> Scrubbed:
    """First call: shorten the leases. Later calls: merge once no lease retains what was overwritten by the first call.

    The only part is the highest sequence number at the first call.
    """
    if parts is None:
        await client.indices.put_settings(index=index, settings=_HURRY)
        return _held(max(shard["seq_no"]["max_seq_no"] for shard in await _shards(client, index)))
    last = int(parts[0])
    leases = [lease for shard in await _shards(client, index) for lease in shard["retention_leases"]["leases"]]
    if any(lease["retaining_seq_no"] <= last for lease in leases):
        return _held(last)
    await client.indices.refresh(index=index)
    await client.indices.flush(index=index, force=True, wait_if_ongoing=True)
    patient: Any = client.options(request_timeout=MERGE_S)
    await patient.indices.forcemerge(index=index, only_expunge_deletes=True)
    await client.indices.flush(index=index, force=True, wait_if_ongoing=True)
    await client.indices.put_settings(index=index, settings=dict.fromkeys(_HURRY))
    return Scrubbed(details={"product": "Elasticsearch", "merged": True})


def _held(last: int) -> Scrubbed:
    return Scrubbed(details={"product": "Elasticsearch"}, parts=(str(last),))


async def _shards(client: AsyncElasticsearch, index: str) -> Sequence[Mapping[str, Any]]:
    stats = await client.indices.stats(index=index, level="shards")
    return [copy for copies in stats["indices"][index]["shards"].values() for copy in copies]
