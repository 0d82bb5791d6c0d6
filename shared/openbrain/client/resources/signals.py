"""Signals and halts: raising, answering, hearing."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import NotRequired, TypedDict, Unpack

from pydantic import ValidationError
from pydantic_core import from_json

from openbrain.client.server_sent_events import MEDIA, Sent, events
from openbrain.client.wire import Wire, filled, in_path, write_headers
from openbrain.contract.amygdala.broadcasts import (
    AmygdalaState,
    BroadcastAnswer,
    BroadcastList,
    Skipped,
    SubscriberList,
)
from openbrain.contract.amygdala.signals import (
    HaltAnswer,
    HaltList,
    HaltStatus,
    SignalAnswer,
    SignalDetail,
    SignalList,
    SignalRaised,
)
from openbrain.domain.errors import SetupError
from openbrain.domain.signals.values import HaltScope, HaltState, Severity, SignalState

AMYGDALA = "/v1/amygdala"

News = AmygdalaState | BroadcastAnswer | Skipped | None
"""The present state, a broadcast, numbers that are not for this key or kept no longer, or only a heartbeat."""


class NewSignal(TypedDict):
    """A signal to raise. `halt`: everyone stops; a nuclear one halts without it."""

    source: str
    severity: Severity | str
    title: str
    content: NotRequired[str]
    dedup_key: NotRequired[str]
    ttl_s: NotRequired[int]
    halt: NotRequired[bool]
    halt_scope: NotRequired[HaltScope | str]
    org: NotRequired[str]
    project: NotRequired[str]


class NewHalt(TypedDict):
    """The reason for a halt, and the agents that it stops."""

    title: str
    content: NotRequired[str]
    scope: NotRequired[HaltScope | str]
    org: NotRequired[str]
    project: NotRequired[str]
    ttl_s: NotRequired[int]
    source: NotRequired[str]
    dedup_key: NotRequired[str]


class SignalsWanted(TypedDict):
    """The filters of signals; a key left out narrows nothing."""

    state: NotRequired[Sequence[SignalState | str]]
    min_severity: NotRequired[Severity | str]
    source: NotRequired[str]
    org: NotRequired[str]
    project: NotRequired[str]
    since: NotRequired[datetime]


class Place(TypedDict):
    """The place where the listener works: a halt of another org or project does not concern it."""

    org: NotRequired[str]
    project: NotRequired[str]


class Signals:
    """Methods of the client for signals."""

    _wire: Wire

    async def raise_signal(self, *, idempotency_key: str = "", **signal: Unpack[NewSignal]) -> SignalRaised:
        """Every agent of the workspace hears it. Again: counted on the same signal, so that it may be repeated."""
        headers = write_headers(idempotency_key)
        return await self._wire.ask(SignalRaised, "POST", f"{AMYGDALA}/signals", body=dict(signal), headers=headers)

    async def signals(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[SignalsWanted]
    ) -> SignalList:
        """A page of signals, newest first."""
        query = {"limit": limit, "cursor": cursor, **wanted}
        return await self._wire.ask(SignalList, "GET", f"{AMYGDALA}/signals", query=query)

    async def signal(self, signal_id: str) -> SignalDetail:
        """One, who has seen it, and what happened to it."""
        return await self._wire.ask(SignalDetail, "GET", _path("signals", signal_id))

    async def acknowledge_signal(self, signal_id: str, *, seq: int | None = None, note: str = "") -> SignalAnswer:
        """Say that it was seen. `seq`: of the broadcast that was heard; what is stronger since is not meant."""
        body = filled(seq=seq, note=note)
        return await self._wire.ask(SignalAnswer, "POST", f"{_path('signals', signal_id)}/ack", body=body)

    async def resolve_signal(self, signal_id: str, *, note: str = "") -> SignalAnswer:
        """Say that it burns no more."""
        path = f"{_path('signals', signal_id)}/resolve"
        return await self._wire.ask(SignalAnswer, "POST", path, body=filled(note=note))

    async def raise_halt(self, *, idempotency_key: str = "", **halt: Unpack[NewHalt]) -> SignalRaised:
        """Everyone in its scope stops, until it is resumed or its `ttl_s` is over."""
        headers = write_headers(idempotency_key)
        return await self._wire.ask(SignalRaised, "POST", f"{AMYGDALA}/halts", body=dict(halt), headers=headers)

    async def halts(
        self, *, state: Sequence[HaltState | str] = (), limit: int | None = None, cursor: str | None = None
    ) -> HaltList:
        """A page of halts, newest first."""
        query = {"state": state, "limit": limit, "cursor": cursor}
        return await self._wire.ask(HaltList, "GET", f"{AMYGDALA}/halts", query=query)

    async def halt(self, halt_id: str, *, within_s: int | None = None) -> HaltStatus:
        """One: who has stopped, and who that was heard of within that time has not."""
        return await self._wire.ask(HaltStatus, "GET", _path("halts", halt_id), query={"within_s": within_s})

    async def acknowledge_halt(self, halt_id: str) -> HaltAnswer:
        """Say that one has stopped."""
        return await self._wire.ask(HaltAnswer, "POST", f"{_path('halts', halt_id)}/ack", body={})

    async def resume_halt(self, halt_id: str, *, note: str = "") -> HaltAnswer:
        """Everyone goes on. Needs an admin key."""
        path = f"{_path('halts', halt_id)}/resume"
        return await self._wire.ask(HaltAnswer, "POST", path, body=filled(note=note))

    async def amygdala(self, *, cursor: int | None = None, via: str = "poll", **place: Unpack[Place]) -> AmygdalaState:
        """Open signals and halts. With `cursor` (up to where all was handled) the agent counts as listening, by redis,
        sse or poll."""
        query = {"cursor": cursor, "via": None if cursor is None else via, **place}
        return await self._wire.ask(AmygdalaState, "GET", f"{AMYGDALA}/state", query=query)

    async def broadcasts(
        self, after: int, *, limit: int | None = None, wait: int = 0, **place: Unpack[Place]
    ) -> BroadcastList:
        """Broadcasts behind a number; with `wait`, once there is something or after so many seconds."""
        query = {"after": after, "limit": limit, "wait": wait or None, **place}
        return await self._wire.ask(BroadcastList, "GET", f"{AMYGDALA}/broadcasts", query=query)

    async def subscribers(
        self, *, within_s: int | None = None, limit: int | None = None, cursor: str | None = None
    ) -> SubscriberList:
        """A page of the agents that listen, by name."""
        query = {"within_s": within_s, "limit": limit, "cursor": cursor}
        return await self._wire.ask(SubscriberList, "GET", f"{AMYGDALA}/subscribers", query=query)

    async def hear(
        self, after: int | None = None, *, seconds: int | None = None, **place: Unpack[Place]
    ) -> AsyncGenerator[News, None]:
        """One stream: how things stand, what was missed behind `after`, then what comes. It ends where the server does;
        `TryLater` where it breaks off: hear again, behind the last number."""
        query = {"after": after, "seconds": seconds, **place}
        async with (
            aclosing(self._wire.stream(f"{AMYGDALA}/stream", query=query, accept=MEDIA)) as parts,
            aclosing(events(parts)) as sent,
        ):
            async for item in sent:
                yield _news(item)


def _news(sent: Sent) -> News:
    try:
        match sent.name:
            case "state":
                return AmygdalaState.model_validate_json(sent.data)
            case "broadcast":
                event = from_json(sent.data)
                return BroadcastAnswer(seq=event["data"]["seq"], event=event)
            case "skipped":
                return Skipped.model_validate_json(sent.data)
    except (ValidationError, ValueError, KeyError, TypeError):
        raise SetupError("the stream's events are not OpenBrain's: check the URL and the server's version") from None
    return None


def _path(kind: str, given: str) -> str:
    return f"{AMYGDALA}/{kind}/{in_path(given)}"
