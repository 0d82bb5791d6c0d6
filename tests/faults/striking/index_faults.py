"""Damage to index entries that the product does not notice, in Elasticsearch."""

import httpx

from tests.faults.planning.plan import Fault
from tests.faults.running.scene import Scene


async def deletes_forgotten(scene: Scene) -> None:
    """Make Elasticsearch forget deletes at once, as if the minute for which it remembers them had passed."""
    async with httpx.AsyncClient(base_url=scene.elasticsearch_url(), timeout=10, verify=False) as http:
        settings = {"index.gc_deletes": "0s"}
        (await http.put(f"/{scene.prefix}*/_settings", json=settings)).raise_for_status()
        (await http.post(f"/{scene.prefix}*/_refresh")).raise_for_status()


async def _indexes(http: httpx.AsyncClient, prefix: str) -> list[str]:
    found = (await http.get(f"/{prefix}*/_alias")).json()
    return [name for name in found if name.startswith(prefix)]


async def damaged(_: Fault, scene: Scene) -> None:
    """Change the text of every live text entry, keeping its revision."""
    async with httpx.AsyncClient(base_url=scene.elasticsearch_url(), timeout=10, verify=False) as http:
        for name in await _indexes(http, scene.prefix):
            hits = (await http.post(f"/{name}/_search", json={"size": 1000})).json()["hits"]["hits"]
            for hit in hits:
                if "text" in hit["_source"]:
                    body = {**hit["_source"], "text": "damaged"}
                    version = {"version": hit["_source"]["revision"], "version_type": "external_gte"}
                    (await http.put(f"/{name}/_doc/{hit['_id']}", params=version, json=body)).raise_for_status()
            await http.post(f"/{name}/_refresh")


async def lost(_: Fault, scene: Scene) -> None:
    """Delete every other entry of each index, as if it was restored from an older copy."""
    async with httpx.AsyncClient(base_url=scene.elasticsearch_url(), timeout=10, verify=False) as http:
        for name in await _indexes(http, scene.prefix):
            hits = (await http.post(f"/{name}/_search", json={"size": 1000})).json()["hits"]["hits"]
            for hit in hits[::2]:
                # At the entry's own version: a plain delete would use the next one, which is remembered for a minute.
                version = {"version": hit["_source"]["revision"], "version_type": "external_gte"}
                (await http.delete(f"/{name}/_doc/{hit['_id']}", params=version)).raise_for_status()
            await http.post(f"/{name}/_refresh")
