"""Client methods for signals and halts: raise, acknowledge, resolve, receive."""

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
from openbrain.domain.ids import uuid7
from openbrain.domain.signals.values import HaltScope, HaltState, Severity, SignalState

AMYGDALA = "/v1/amygdala"

News = AmygdalaState | BroadcastAnswer | Skipped | None
"""The present state, a broadcast, a range of skipped numbers (not visible to this key or no longer stored), or a
heartbeat."""


class NewSignal(TypedDict):
    """A signal to raise. `halt`: every agent in `halt_scope` must stop; a nuclear signal always halts."""

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
    """The filters of signals. A key left out does not filter."""

    state: NotRequired[Sequence[SignalState | str]]
    min_severity: NotRequired[Severity | str]
    source: NotRequired[str]
    org: NotRequired[str]
    project: NotRequired[str]
    since: NotRequired[datetime]


class Place(TypedDict):
    """Where the listener works: halts of other orgs and projects are left out."""

    org: NotRequired[str]
    project: NotRequired[str]


class Signals:
    """Client methods for signals."""

    _wire: Wire

    async def raise_signal(self, *, idempotency_key: str = "", **signal: Unpack[NewSignal]) -> SignalRaised:
        """Raise a signal: every agent of the workspace receives it. May be repeated: a repeated raise is counted on the
        same signal; retries of the client are not."""
        headers = write_headers(idempotency_key or uuid7(0))
        return await self._wire.ask(SignalRaised, "POST", f"{AMYGDALA}/signals", body=dict(signal), headers=headers)

    async def signals(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[SignalsWanted]
    ) -> SignalList:
        """Return a page of signals, newest first."""
        query = {"limit": limit, "cursor": cursor, **wanted}
        return await self._wire.ask(SignalList, "GET", f"{AMYGDALA}/signals", query=query)

    async def signal(self, signal_id: str) -> SignalDetail:
        """Return one signal, the agents that acknowledged it, and its audit."""
        return await self._wire.ask(SignalDetail, "GET", _path("signals", signal_id))

    async def acknowledge_signal(self, signal_id: str, *, seq: int | None = None, note: str = "") -> SignalAnswer:
        """Acknowledge a signal. `seq`: the broadcast that is acknowledged; a later raise of a higher severity is
        not."""
        body = filled(seq=seq, note=note)
        return await self._wire.ask(SignalAnswer, "POST", f"{_path('signals', signal_id)}/ack", body=body)

    async def resolve_signal(self, signal_id: str, *, note: str = "") -> SignalAnswer:
        """Resolve a signal: the problem is over."""
        path = f"{_path('signals', signal_id)}/resolve"
        return await self._wire.ask(SignalAnswer, "POST", path, body=filled(note=note))

    async def raise_halt(self, *, idempotency_key: str = "", **halt: Unpack[NewHalt]) -> SignalRaised:
        """Raise a halt: every agent in its scope must stop until it is resumed or its `ttl_s` has passed."""
        headers = write_headers(idempotency_key or uuid7(0))
        return await self._wire.ask(SignalRaised, "POST", f"{AMYGDALA}/halts", body=dict(halt), headers=headers)

    async def halts(
        self, *, state: Sequence[HaltState | str] = (), limit: int | None = None, cursor: str | None = None
    ) -> HaltList:
        """Return a page of halts, newest first."""
        query = {"state": state, "limit": limit, "cursor": cursor}
        return await self._wire.ask(HaltList, "GET", f"{AMYGDALA}/halts", query=query)

    async def halt(self, halt_id: str, *, within_s: int | None = None) -> HaltStatus:
        """Return one halt, the agents that have stopped, and those seen within `within_s` that have not."""
        return await self._wire.ask(HaltStatus, "GET", _path("halts", halt_id), query={"within_s": within_s})

    async def acknowledge_halt(self, halt_id: str) -> HaltAnswer:
        """Acknowledge a halt: this agent has stopped."""
        return await self._wire.ask(HaltAnswer, "POST", f"{_path('halts', halt_id)}/ack", body={})

    async def resume_halt(self, halt_id: str, *, note: str = "") -> HaltAnswer:
        """End a halt: agents may continue. Needs an admin key."""
        path = f"{_path('halts', halt_id)}/resume"
        return await self._wire.ask(HaltAnswer, "POST", path, body=filled(note=note))

    async def amygdala(self, *, cursor: int | None = None, via: str = "poll", **place: Unpack[Place]) -> AmygdalaState:
        """Return the open signals and halts. With `cursor` (every broadcast up to it was handled) the agent counts as
        listening; `via`: redis, sse or poll."""
        query = {"cursor": cursor, "via": None if cursor is None else via, **place}
        return await self._wire.ask(AmygdalaState, "GET", f"{AMYGDALA}/state", query=query)

    async def broadcasts(
        self, after: int, *, limit: int | None = None, wait: int = 0, **place: Unpack[Place]
    ) -> BroadcastList:
        """Return broadcasts after a number; with `wait`, when there is one or after this many seconds."""
        query = {"after": after, "limit": limit, "wait": wait or None, **place}
        return await self._wire.ask(BroadcastList, "GET", f"{AMYGDALA}/broadcasts", query=query)

    async def subscribers(
        self, *, within_s: int | None = None, limit: int | None = None, cursor: str | None = None
    ) -> SubscriberList:
        """Return a page of the agents that listen, by name."""
        query = {"within_s": within_s, "limit": limit, "cursor": cursor}
        return await self._wire.ask(SubscriberList, "GET", f"{AMYGDALA}/subscribers", query=query)

    async def hear(
        self, after: int | None = None, *, seconds: int | None = None, **place: Unpack[Place]
    ) -> AsyncGenerator[News, None]:
        """Stream broadcasts: first the present state, then those missed after the number `after`, then new ones. Ends
        when the server stops; raises `TryLater` if the connection breaks off: call again with the last number."""
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
