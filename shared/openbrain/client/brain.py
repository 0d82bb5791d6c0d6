"""The client itself: a method per route."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, Unpack
from urllib.parse import quote

import httpx

from openbrain import answers
from openbrain.client.arguments import Changes, Filters, NewKey
from openbrain.client.discovery import Discovery
from openbrain.client.transfers import Transfers
from openbrain.client.wire import Wire
from openbrain.ids import uuid7
from openbrain.submission import Submission

Offer = Submission | Mapping[str, object]


class OpenBrain(Discovery, Transfers):
    """One server, one key. Errors are those of `openbrain.errors`; what is down or busy is asked again first.

    `agent` speaks for that agent, where the key may (`act_as`). Plain http is taken for loopback addresses only,
    unless `allow_http`. An answer above `response_bytes` is refused.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        agent: str = "",
        timeout_s: float = 60.0,
        attempts: int = 3,
        allow_http: bool = False,
        verify_tls: bool = True,
        response_bytes: int = 128 * 1024 * 1024,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._wire = Wire(
            url,
            key,
            agent=agent,
            timeout_s=timeout_s,
            attempts=attempts,
            allow_http=allow_http,
            verify_tls=verify_tls,
            response_bytes=response_bytes,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back."""
        await self._wire.close()

    async def remember(self, offer: Offer, *, idempotency_key: str = "", wait: int = 0) -> answers.Remembered:
        """Store one memory; `wait` seconds until it is indexed, or answer as it stands then."""
        body = _offer(offer)
        if body.get("allow_duplicate") and not idempotency_key:
            idempotency_key = _fresh_key()  # so that our own second attempt is not a second memory
        headers = _write_headers(idempotency_key, wait)
        return await self._wire.ask(answers.Remembered, "POST", "/v1/brain/remember", body=body, headers=headers)

    async def remember_batch(
        self, offers: Sequence[Offer], *, idempotency_key: str = "", wait: int = 0
    ) -> answers.RememberedBatch:
        """Store up to 500, each on its own: one refused item never fails its neighbours."""
        bodies = [_offer(offer) for offer in offers]
        if any(body.get("allow_duplicate") for body in bodies) and not idempotency_key:
            idempotency_key = _fresh_key()
        return await self._wire.ask(
            answers.RememberedBatch,
            "POST",
            "/v1/brain/remember:batch",
            body={"memories": bodies},
            headers=_write_headers(idempotency_key, wait),
        )

    async def recall(
        self,
        query: str,
        *,
        top_k: int | None = None,
        keywords: Sequence[str] = (),
        boost_keywords: float | Sequence[str] | None = None,
        text_weight: float | None = None,
        agent_id: str = "",
        explain: bool = False,
        **filters: Unpack[Filters],
    ) -> answers.Recalled:
        """Find what bears on `query`, best first. `text_weight`: 1 asks for keywords alone, 0 for vectors alone.
        `agent_id` asks as that agent, where the key may; `explain` tells how each score came about."""
        author = filters.pop("author", None)
        body: dict[str, object] = {"query": query, **filters}
        if author:
            body["filter"] = {"agent_id": author}
        if agent_id:
            body["agent_id"] = agent_id
        if explain:
            body["explain"] = True
        if top_k is not None:
            body["top_k"] = top_k
        if keywords:
            body["keywords"] = keywords
        if boost_keywords is not None:
            body["boost_keywords"] = boost_keywords
        if text_weight is not None:
            body["text_weight"] = text_weight
        return await self._wire.ask(answers.Recalled, "POST", "/v1/brain/recall", body=body)

    async def memories(
        self, *, limit: int | None = None, cursor: str | None = None, **filters: Unpack[Filters]
    ) -> answers.Listed:
        """List the newest, or what follows the page whose `next_cursor` is given."""
        author = filters.pop("author", None)
        return await self._wire.ask(
            answers.Listed,
            "GET",
            "/v1/brain/list",
            query={"limit": limit, "cursor": cursor, "agent_id": author, **filters},
        )

    async def memory(self, memory_id: str, *, history: bool = False, session_id: str = "") -> answers.MemoryDetail:
        """Read one memory, dead or alive; with `history` its audit and chain too."""
        query = {"history": "1" if history else None, "session_id": session_id or None}
        return await self._wire.ask(answers.MemoryDetail, "GET", f"/v1/brain/memories/{_part(memory_id)}", query=query)

    async def update(
        self, memory_id: str, *, session_id: str = "", wait: int = 0, **changes: Unpack[Changes]
    ) -> answers.MemoryAnswer:
        """Change one memory."""
        return await self._wire.ask(
            answers.MemoryAnswer,
            "PATCH",
            f"/v1/brain/memories/{_part(memory_id)}",
            body=dict(changes),
            query={"session_id": session_id or None},
            headers=_write_headers("", wait),
        )

    async def forget(
        self, memory_id: str, *, reason: str = "", session_id: str = "", wait: int = 0
    ) -> answers.Forgotten:
        """End one memory; its history stays."""
        return await self._wire.ask(
            answers.Forgotten,
            "DELETE",
            f"/v1/brain/forget/{_part(memory_id)}",
            body={"reason": reason} if reason else None,
            query={"session_id": session_id or None},
            headers=_write_headers("", wait),
        )

    async def create_workspace(self, workspace_id: str, name: str = "") -> answers.WorkspaceAnswer:
        """Make a tenant (needs an admin key of the workspace `system`)."""
        body = {"id": workspace_id, "name": name or workspace_id}
        return await self._wire.ask(answers.WorkspaceAnswer, "POST", "/v1/admin/workspaces", body=body, repeat=False)

    async def workspaces(self) -> answers.WorkspaceList:
        """All tenants (needs an admin key of the workspace `system`)."""
        return await self._wire.ask(answers.WorkspaceList, "GET", "/v1/admin/workspaces")

    async def create_key(self, **key: Unpack[NewKey]) -> answers.KeyCreated:
        """Make a key; its secret is in this answer and nowhere else."""
        return await self._wire.ask(answers.KeyCreated, "POST", "/v1/admin/keys", body=dict(key), repeat=False)

    async def keys(self, *, workspace_id: str = "") -> answers.KeyList:
        """The workspace's keys."""
        query = {"workspace_id": workspace_id or None}
        return await self._wire.ask(answers.KeyList, "GET", "/v1/admin/keys", query=query)

    async def revoke_key(self, key_id: str, *, workspace_id: str = "") -> answers.KeyRevoked:
        """End a key; every process refuses it within seconds."""
        query = {"workspace_id": workspace_id or None}
        return await self._wire.ask(answers.KeyRevoked, "DELETE", f"/v1/admin/keys/{_part(key_id)}", query=query)

    async def whoami(self) -> answers.Whoami:
        """Who the key is, and what it may."""
        return await self._wire.ask(answers.Whoami, "GET", "/v1/whoami")

    async def health(self) -> answers.Health:
        """How the server is; an answer also when it is not well."""
        return await self._wire.ask(answers.Health, "GET", "/v1/health", well=(200, 503))


def _offer(offer: Offer) -> dict[str, object]:
    if isinstance(offer, Submission):
        return offer.model_dump(mode="json", exclude_unset=True)
    return dict(offer)


def _write_headers(idempotency_key: str, wait: int) -> dict[str, str]:
    headers = {"idempotency-key": idempotency_key} if idempotency_key else {}
    return {**headers, "prefer": f"wait={wait}"} if wait else headers


def _fresh_key() -> str:
    return uuid7(0)


def _part(text: str) -> str:
    return quote(text, safe="")
