"""Remains of overwritten documents in Elasticsearch: in the translog until a flush, in segments until they are merged,
and through every merge while a retention lease says that a replica may still ask for them, which is for hours.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from elasticsearch import AsyncElasticsearch

from openbrain.ports.index import Scrubbed

_MERGE_S = 600
_HURRY: Mapping[str, Any] = {
    # A lease is renewed when half of its time has passed; the server looks every 30 seconds.
    "index.soft_deletes.retention_lease.period": "1s",
    # Segments with few deletes are left alone otherwise.
    "index.merge.policy.expunge_deletes_allowed": 0,
}


async def scrub(client: AsyncElasticsearch, index: str, parts: Sequence[str] | None) -> Scrubbed:
    """First have the leases renewed; then, once no lease holds what was overwritten by the first call, merge it away.

    The one part is the number of the last change that had been made then.
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
    patient: Any = client.options(request_timeout=_MERGE_S)
    await patient.indices.forcemerge(index=index, only_expunge_deletes=True)
    await client.indices.flush(index=index, force=True, wait_if_ongoing=True)
    await client.indices.put_settings(index=index, settings=dict.fromkeys(_HURRY))
    return Scrubbed(details={"product": "Elasticsearch", "merged": True})


def _held(last: int) -> Scrubbed:
    return Scrubbed(details={"product": "Elasticsearch"}, parts=(str(last),))


async def _shards(client: AsyncElasticsearch, index: str) -> Sequence[Mapping[str, Any]]:
    stats = await client.indices.stats(index=index, level="shards")
    return [copy for copies in stats["indices"][index]["shards"].values() for copy in copies]
