"""The client itself: a method per route."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self, Unpack

import httpx

from openbrain.client.arguments import Asking, Changes, Filters
from openbrain.client.breaker import Breaker
from openbrain.client.outbox import Outbox
from openbrain.client.outbox_wire import OutboxWire
from openbrain.client.resources.agents import Agents
from openbrain.client.resources.discovery import Discovery
from openbrain.client.resources.erasure import Erasures
from openbrain.client.resources.operating.access import Access
from openbrain.client.resources.operating.indexes import Indexes
from openbrain.client.resources.operating.lifecycle import Lifecycles
from openbrain.client.resources.operating.streams import Streams
from openbrain.client.resources.signals import Signals
from openbrain.client.resources.thoughts import Thoughts
from openbrain.client.resources.transfers import Transfers
from openbrain.client.resources.vault import Vault
from openbrain.client.resources.webhooks import Webhooks
from openbrain.client.wire import Wire, filled, given, in_path, pages, write_headers
from openbrain.contract.brain.feedback import FeedbackGiven, Review
from openbrain.contract.brain.memories import (
    Forgotten,
    Listed,
    MemoryAnswer,
    MemoryDetail,
    Related,
    Remembered,
    RememberedBatch,
)
from openbrain.contract.brain.recall import Recalled, RecalledBatch
from openbrain.contract.system import Health
from openbrain.domain.access.credentials import from_environment
from openbrain.domain.events.submission import Submission
from openbrain.domain.ids import uuid7

DELIVERY_PAUSE_S = 30
Offer = Submission | Mapping[str, object]


class OpenBrain(
    Discovery,
    Transfers,
    Access,
    Indexes,
    Lifecycles,
    Streams,
    Signals,
    Webhooks,
    Vault,
    Erasures,
    Agents,
    Thoughts,
):
    """Client of one server with one key. Raises the errors of `openbrain.domain.errors`, after retries while the server
    is down or busy.

    `agent`: the agent to act as, if the key's `act_as` allows it. `allow_http`: without it, plain http is accepted for
    loopback addresses only. `response_bytes`: a larger response is refused. `breaker_failures`: after this many failed
    requests in a row no request is sent for `breaker_s`. `org`: used for writes and questions that name none. `outbox`:
    a write that can't be sent is stored there and raises `Kept`; `delivering` sends it later. `wire`: the transport
    class; HTTP by default.
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
        breaker_failures: int = 3,
        breaker_s: float = 30.0,
        org: str = "",
        outbox: Outbox | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        wire: Callable[..., Wire] = Wire,
    ) -> None:
        self.url = url.rstrip("/")
        self.org = org
        self._wire = (wire if outbox is None else partial(OutboxWire, outbox))(
            url,
            key,
            agent=agent,
            timeout_s=timeout_s,
            attempts=attempts,
            allow_http=allow_http,
            verify_tls=verify_tls,
            response_bytes=response_bytes,
            breaker=Breaker(breaker_failures, breaker_s),
            transport=transport,
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], home: Path | None = None) -> Self:
        """Create a client from OPENBRAIN_URL and related variables, or the original's CORE_BRAIN_URL;
        `domain.access.credentials` has the list. Responses above 1 MiB are refused unless OPENBRAIN_RESPONSE_BYTES sets
        another limit."""
        credentials = from_environment(environment, home or Path.home())
        return cls(
            credentials.url,
            credentials.key,
            agent=credentials.agent_id,
            allow_http=credentials.allow_http,
            response_bytes=credentials.response_bytes,
            org=credentials.org,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def remember(self, offer: Offer, *, idempotency_key: str = "", wait: int = 0) -> Remembered:
        """Store one memory. `wait`: wait up to this many seconds until it is indexed."""
        body = self._placed(_offer(offer))
        if body.get("allow_duplicate") and not idempotency_key:
            idempotency_key = uuid7(0)  # so that a retry does not store a second memory
        headers = write_headers(idempotency_key, wait=wait)
        return await self._wire.ask(Remembered, "POST", "/v1/brain/remember", body=body, headers=headers)

    async def remember_batch(
        self, offers: Sequence[Offer], *, idempotency_key: str = "", wait: int = 0
    ) -> RememberedBatch:
        """Store up to 500 memories. Each is stored or refused independently of the others."""
        bodies = [self._placed(_offer(offer)) for offer in offers]
        if any(body.get("allow_duplicate") for body in bodies) and not idempotency_key:
            idempotency_key = uuid7(0)
        return await self._wire.ask(
            RememberedBatch,
            "POST",
            "/v1/brain/remember:batch",
            body={"memories": bodies},
            headers=write_headers(idempotency_key, wait=wait),
        )

    async def recall(
        self,
        query: str,
        *,
        boost_keywords: float | Sequence[str] | None = None,
        text_weight: float | None = None,
        agent_id: str = "",
        **asking: Unpack[Asking],
    ) -> Recalled:
        """Find memories relevant to `query`, best first.

        `text_weight`: 1 keywords only, 0 vectors only. `precision`: "exact" only similar hits, "recall" whatever was
        found; `min_similarity` sets the minimum directly. `match` "names": only memories that are named in the query.
        `fold` False: return near-equal memories one by one. `around`: also return this many turns before and after each
        hit. `as_of`: recall as of an earlier time. `order` "time": oldest first. `time_words` False: ignore times named
        in the query; else they are relative to `asked_at` (now). `agent_id`: ask as that agent, if the key may.
        `explain`: explain each score."""
        body = self._placed({"query": query, **_question(asking), **filled(agent_id=agent_id)})
        body |= given(boost_keywords=boost_keywords, text_weight=text_weight)
        return await self._wire.ask(Recalled, "POST", "/v1/brain/recall", body=body)

    async def recall_batch(
        self, questions: Sequence[str | Mapping[str, object]], **asking: Unpack[Asking]
    ) -> RecalledBatch:
        """Ask up to 50 questions at once, cheaper than one by one; a refused one does not affect the others. A question
        is a text, or a body of `/v1/brain/recall` whose members win over the options given here for all."""
        common = _question(asking)
        normalised = ({"query": question} if isinstance(question, str) else question for question in questions)
        queries = [self._placed({**common, **item}) for item in normalised]
        return await self._wire.ask(RecalledBatch, "POST", "/v1/brain/recall:batch", body={"queries": queries})

    async def related(self, memory_id: str, *, limit: int | None = None, session_id: str = "") -> Related:
        """Return related memories: the most similar, those of its session, those that share a name, and its supersede
        chain."""
        query = given(limit=limit, session_id=session_id or None)
        return await self._wire.ask(Related, "GET", f"/v1/brain/memories/{in_path(memory_id)}/related", query=query)

    async def feedback(
        self,
        recall_id: str,
        *,
        used: Sequence[str] = (),
        ignored: Sequence[str] = (),
        wrong: Sequence[str] = (),
        reason: str = "",
        session_id: str = "",
        agent_id: str = "",
    ) -> FeedbackGiven:
        """Report which results of a recall were used, ignored or wrong. Each result can be judged once per recall."""
        body = filled(used=used, ignored=ignored, wrong=wrong, reason=reason, session_id=session_id, agent_id=agent_id)
        return await self._wire.ask(FeedbackGiven, "POST", f"/v1/brain/recall/{in_path(recall_id)}/feedback", body=body)

    async def review(
        self,
        *,
        days: int | None = None,
        org: str | None = None,
        project: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Review:
        """List memories that are older than `days` (90) and that no recall has found for as long, oldest first."""
        query = self._placed({"days": days, "org": org, "project": project, "limit": limit, "cursor": cursor})
        return await self._wire.ask(Review, "GET", "/v1/brain/review", query=query)

    async def memories(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        include_archived: bool = False,
        **filters: Unpack[Filters],
    ) -> Listed:
        """List memories, newest first. `cursor`: the `next_cursor` of the previous page."""
        author = filters.pop("author", None)
        archived = "1" if include_archived else None
        return await self._wire.ask(
            Listed,
            "GET",
            "/v1/brain/list",
            query=self._placed(
                {"limit": limit, "cursor": cursor, "include_archived": archived, "agent_id": author, **filters}
            ),
        )

    async def memory(
        self, memory_id: str, *, history: bool = False, session_id: str = "", cursor: str | None = None
    ) -> MemoryDetail:
        """Read one memory, also one that has ended. With `history` also its supersede chain and a page of its audit;
        `cursor`: the `next_cursor` of the previous page."""
        query = {"history": "1" if history else None, "session_id": session_id or None, "cursor": cursor}
        return await self._wire.ask(MemoryDetail, "GET", f"/v1/brain/memories/{in_path(memory_id)}", query=query)

    async def memory_whole(self, memory_id: str, *, session_id: str = "") -> MemoryDetail:
        """Read one memory with its supersede chain and its complete audit, fetched page by page."""
        listed = pages(lambda cursor: self.memory(memory_id, history=True, session_id=session_id, cursor=cursor))
        parts = [part async for part in listed]
        lines = tuple(line for part in parts for line in part.history or ())
        return parts[0].model_copy(update={"history": lines, "next_cursor": None})

    async def update(
        self, memory_id: str, *, session_id: str = "", wait: int = 0, if_match: str = "", **changes: Unpack[Changes]
    ) -> MemoryAnswer:
        """Change one memory. `if_match`: raise `Outdated` if its entity tag is no longer this one."""
        return await self._wire.ask(
            MemoryAnswer,
            "PATCH",
            f"/v1/brain/memories/{in_path(memory_id)}",
            body=dict(changes),
            query={"session_id": session_id or None},
            headers=write_headers(wait=wait, if_match=if_match),
        )

    async def forget(
        self, memory_id: str, *, reason: str = "", session_id: str = "", wait: int = 0, if_match: str = ""
    ) -> Forgotten:
        """Forget one memory; its history stays."""
        return await self._wire.ask(
            Forgotten,
            "DELETE",
            f"/v1/brain/forget/{in_path(memory_id)}",
            body={"reason": reason} if reason else None,
            query={"session_id": session_id or None},
            headers=write_headers(wait=wait, if_match=if_match),
        )

    async def restore(
        self, memory_id: str, *, reason: str = "", session_id: str = "", wait: int = 0, if_match: str = ""
    ) -> MemoryAnswer:
        """Restore a memory that was forgotten, superseded or archived, or has expired. `Conflict` names the memory that
        has replaced it."""
        return await self._wire.ask(
            MemoryAnswer,
            "POST",
            f"/v1/brain/memories/{in_path(memory_id)}:restore",
            body={"reason": reason} if reason else {},
            query={"session_id": session_id or None},
            headers=write_headers(wait=wait, if_match=if_match),
        )

    async def delivering(self) -> None:
        """Send the writes in the outbox as soon as the server answers; runs until cancelled."""
        if isinstance(self._wire, OutboxWire):
            await self._wire.enter_loop()
            await self._wire.identify()
        while isinstance(self._wire, OutboxWire):
            await self._wire.unsent()
            pause = 1
            while not await self._wire.deliver():
                await asyncio.sleep(pause)
                pause = min(2 * pause, DELIVERY_PAUSE_S)

    async def health(self) -> Health:
        """Return the server's health; does not raise if it is degraded or down."""
        return await self._wire.ask(Health, "GET", "/v1/health", well=(200, 503))

    def _placed(self, body: dict[str, object]) -> dict[str, object]:
        """Return the body with the client's org, unless it names one."""
        return body if body.get("org") or not self.org else {**body, "org": self.org}


def _offer(offer: Offer) -> dict[str, object]:
    if isinstance(offer, Submission):
        return offer.model_dump(mode="json", exclude_unset=True)
    return dict(offer)


def _question(asking: Asking) -> dict[str, object]:
    """Return the given options of a recall, without the query."""
    author = asking.pop("author", None)
    return {**given(**asking), **filled(filter={"agent_id": author} if author else None)}
