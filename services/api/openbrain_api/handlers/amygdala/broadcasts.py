"""Open alarms and broadcasts: state, stream, long poll, subscribers."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

import orjson

from openbrain.contract.amygdala.broadcasts import (
    AmygdalaState,
    BroadcastList,
    BroadcastsQuery,
    PlaceQuery,
    StateQuery,
    StreamQuery,
    SubscriberAnswer,
    SubscriberList,
    SubscribersQuery,
    Via,
)
from openbrain.contract.amygdala.signals import HaltAnswer, SignalAnswer
from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import Present, Subscriber
from openbrain.ports.streams import StreamedBroadcast
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.frames import MEDIA, EncodedBroadcast, encoded, frame
from openbrain_api.broadcasts.hub import SIGNALS
from openbrain_api.broadcasts.watching import come_back, following, written
from openbrain_api.http.parsing import last_event_id
from openbrain_api.http.response import Response, respond, respond_page, to_json
from openbrain_api.http.route import Call, Nothing, Route


@Route("GET", "/v1/amygdala/state", permission=Permission.BRAIN_READ, response=AmygdalaState)
async def state(call: Call[Nothing, StateQuery]) -> Response:
    """Open alarms, and whether the fleet is halted."""
    query = call.query
    if query.cursor is not None:
        _note(call, query, query.cursor, query.via)
    present = await call.api.store.signals.present(call.actor.viewer(), SIGNALS)
    return respond(state_of(present, query.org or "", query.project or ""))


@Route("GET", "/v1/amygdala/stream", permission=Permission.BRAIN_READ, media=MEDIA)
async def stream(call: Call[Nothing, StreamQuery]) -> Response:
    """Server-sent events: the state, the missed broadcasts, then new ones."""
    query, api, viewer = call.query, call.api, call.actor.viewer()
    listener = Listener(viewer.workspace_id)
    api.hub.admit(listener)
    # Read before the response begins, so that a database that is down is a 503.
    present = await api.hub.present(viewer)
    after = last_event_id(call.headers, query.after)
    begins = after is None or after > present.seq
    cursor = present.seq if after is None or begins else after
    now = to_json(state_of(present, query.org or "", query.project or ""))

    async def events() -> AsyncGenerator[bytes, None]:
        with api.listening.listens(call.actor.key_id, listener):
            yield come_back() + frame("state", now, cursor if begins else None)
            async with api.hub.listener(viewer.workspace_id, listener) as channel:
                parts = following(
                    channel.after,
                    cursor,
                    listener,
                    partial(written, viewer),
                    seconds=query.seconds,
                    heartbeat_s=api.settings.server.tuning.heartbeat_s,
                    note=lambda reached: _note(call, query, reached, Via.SSE),
                )
                async with aclosing(parts):
                    async for part in parts:
                        yield part

    return Response(200, b"", MEDIA, {"x-accel-buffering": "no"}, events(), listener.end)


@Route("GET", "/v1/amygdala/broadcasts", permission=Permission.BRAIN_READ, response=BroadcastList)
async def broadcasts(call: Call[Nothing, BroadcastsQuery]) -> Response:
    """Broadcasts after a number; with wait=N, wait until there is one."""
    query, viewer = call.query, call.actor.viewer()
    if query.wait:
        page, last = await _awaited(call)
    else:
        rows = await call.api.store.broadcasts.broadcasts_after(viewer.workspace_id, query.after, query.limit)
        page = [encoded(StreamedBroadcast(row.seq, row.body)) for row in rows]
        last = await call.api.store.broadcasts.last_seq(viewer.workspace_id)
    shown = [
        {"seq": broadcast.seq, "event": orjson.Fragment(event)} for broadcast in page if (event := broadcast.to(viewer))
    ]
    content = {
        "broadcasts": shown,
        "count": len(shown),
        "begins": page[0].seq - 1 if page else query.after,
        "through": page[-1].seq if page else query.after,
        "last": last,
    }
    return respond(content)


@Route("GET", "/v1/amygdala/subscribers", permission=Permission.BRAIN_READ, response=SubscriberList)
async def subscribers(call: Call[Nothing, SubscribersQuery]) -> Response:
    """List subscribers by agent."""
    query = call.query
    within_s = query.within_s or round(call.api.settings.server.tuning.listening_s)
    since = call.api.clock.now() - within_s * MICROSECONDS
    rows = await call.api.store.broadcasts.subscribers(
        call.actor.workspace_id, since, query.limit + 1, query.cursor or "", viewer=call.actor.viewer()
    )
    shown = tuple(SubscriberAnswer.of(row) for row in rows[: query.limit])
    following = shown[-1].agent_id if len(rows) > query.limit else None
    return respond_page(SubscriberList(subscribers=shown, count=len(shown), next_cursor=following))


def state_of(present: Present, org: str, project: str) -> AmygdalaState:
    """The state; `halted` is for work in that org and project."""
    worst = max((row.broadcast_severity for row in present.signals), key=lambda severity: severity.rank, default=None)
    return AmygdalaState.of(
        present,
        severity=worst,
        halted=any(halt.concerns(org, project) for halt in present.halts),
        signals=[SignalAnswer.of(row) for row in present.signals],
        halts=[HaltAnswer.of(row) for row in present.halts],
    )


async def _awaited(call: Call[Nothing, BroadcastsQuery]) -> tuple[Sequence[EncodedBroadcast], int]:
    query, hub = call.query, call.api.hub
    listener = Listener(call.actor.workspace_id)
    hub.admit(listener)
    _note(call, query, query.after, Via.POLL)
    until = time.monotonic() + query.wait
    keys = call.api.listening
    async with hub.listener(call.actor.workspace_id, listener) as channel:
        with keys.listens(call.actor.key_id, listener):
            news = await channel.after(query.after)
            while not news and not listener.ended and (left := until - time.monotonic()) > 0:
                await listener.wait(left)
                news = await channel.after(query.after)
            keys.require(listener)
        return news[: query.limit], channel.top


def _note(call: Call[Any, Any], query: PlaceQuery, cursor: int, via: Via) -> None:
    """Note that the asking agent listens."""
    call.api.presence.note(
        Subscriber(
            workspace_id=call.actor.workspace_id,
            agent_id=call.actor.label,
            cursor=cursor,
            via=via,
            org=query.org or "",
            project=query.project or "",
            seen_at=call.api.clock.now(),
        )
    )
