"""Helpers to search through the API, and a text index that fails."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from openbrain.adapters.tantivy.highlights import Marker
from openbrain.domain.errors import TryLater
from openbrain.ports.index import Checked, Count, Found, Span, TextQuery
from tests.support.api.brain import Brain, http

SEARCH, TAGS, SCOPES = "/v1/brain/search", "/v1/brain/tags", "/v1/brain/scopes"
FACETS = ["type", "tags", "org", "project", "agent_id", "source"]


@pytest.fixture
async def ada(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    async with http(brain.app(), await brain.key()) as client:
        yield client


async def searched(client: httpx.AsyncClient, q: str, **asked: Any) -> Any:
    response = await client.get(SEARCH, params={"q": q, **asked})
    assert response.status_code == 200, response.text
    return response.json()


async def contents(client: httpx.AsyncClient, q: str, **asked: Any) -> list[str]:
    return [each["content"] for each in (await searched(client, q, **asked))["hits"]]


async def paged(client: httpx.AsyncClient, q: str, **asked: Any) -> list[str]:
    """Return the ids of all pages."""
    ids: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await searched(client, q, **asked, **({"cursor": cursor} if cursor else {}))
        ids += [each["id"] for each in page["hits"]]
        cursor = page["next_cursor"]
    return ids


async def plain(client: httpx.AsyncClient, path: str, params: dict[str, Any]) -> Any:
    response = await client.get(path, params=params)
    assert response.status_code == 200, response.text
    return {**response.json(), "took_ms": None}


class Down:
    """A text index that is down or hangs, which the real one can't be made to do on demand."""

    builder = "faulty"

    def __init__(self, *, hangs: bool = False) -> None:
        self._hangs = hangs

    async def find(self, *_: Any) -> Found:
        raise await self._fault()

    async def counts(self, *_: Any) -> Sequence[Count]:
        raise await self._fault()

    async def check(self) -> Checked:
        raise await self._fault()

    async def marks(self, query: TextQuery, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        return Marker().marks(query, texts)

    async def _fault(self) -> TryLater:
        if self._hangs:
            await asyncio.Event().wait()
        return TryLater("down for the test")
