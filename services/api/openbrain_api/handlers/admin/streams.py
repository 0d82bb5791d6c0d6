"""Streams and their groups, for operators."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from openbrain.contract.admin.streams import (
    Buried,
    BuryBody,
    GroupPaused,
    GroupRegistered,
    OutsideBody,
    OutsideQuery,
    PauseBody,
    ReplayBody,
    Replayed,
    ResumeBody,
    StreamAnswer,
    StreamList,
    StreamsQuery,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.events.streams import GROUPS, StreamSpec, every_stream
from openbrain.domain.times import to_datetime
from openbrain.ports.streams import BURY, REPLAY, Readers, StreamState
from openbrain_api.handlers.admin.operations import accepted, operators_only, planned, start_operation
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route

BEGINNING = "-"


@Route("GET", "/v1/admin/streams", permission=Permission.ADMIN, response=StreamList)
async def streams(call: Call[Nothing, StreamsQuery]) -> Response:
    """The state of each stream and of each of its groups."""
    operators_only(call, "streams need")
    name = call.query.stream or ""
    if name:
        known(call, name)
    outside = [(group.stream, group.name) for group in await call.api.store.groups.outside_groups()]
    paused = {group.name for group in await call.api.store.groups.pauses()}
    shown = tuple(_shown_stream(state, paused) for state in await call.api.streams.look(name, outside))
    return respond(StreamList(streams=shown, count=len(shown)))


@Route(
    "POST", "/v1/admin/streams:replay", permission=Permission.ADMIN, response=Replayed, statuses=(200, 202), waits=True
)
async def replay(call: Call[ReplayBody, Nothing]) -> Response:
    """Replay a stream's kept entries to its services, with lower priority than live entries."""
    operators_only(call, "streams need")
    body = call.body
    spec = known(call, body.stream)
    if body.group and body.group not in spec.groups:
        raise Invalid(
            "group", f"no service reads this stream as {body.group!r}: {', '.join(spec.groups) or 'none does'}"
        )
    if not spec.groups:
        raise Invalid("stream", "no service reads it: its readers keep their own positions, and go back by themselves")
    groups = (body.group,) if body.group else spec.groups
    span = await call.api.streams.span(body.stream, body.begin or BEGINNING, body.end or "+")
    plan = {
        "stream": body.stream,
        "groups": groups,
        "dry_run": body.dry_run,
        "begins_id": span.begins_id,
        "begins_at": _when(span.begins_id),
        "from_id": span.from_id,
        "to_id": span.to_id,
        "count": span.entries,
    }
    if body.dry_run or not span.entries:
        return planned(plan)
    request = {
        "stream": body.stream,
        "groups": groups,
        "from": span.from_id,
        "to": span.to_id,
        "rate": body.rate,
    }
    return await accepted(call, plan, await start_operation(call, REPLAY, request, span.entries * len(groups)))


@Route("POST", "/v1/admin/streams:bury", permission=Permission.ADMIN, response=Buried, statuses=(202,), waits=True)
async def bury(call: Call[BuryBody, Nothing]) -> Response:
    """Move one stuck entry of a group to its dead letters."""
    operators_only(call, "streams need")
    body = call.body
    if body.group not in known(call, body.stream).groups:
        raise Invalid("group", "no service reads this stream under that name")
    entry = {"stream": body.stream, "group": body.group, "entry": body.entry}
    return await accepted(call, entry, await start_operation(call, BURY, {**entry, "reason": body.reason}, 1))


@Route("POST", "/v1/admin/groups:pause", permission=Permission.ADMIN, response=GroupPaused)
async def pause(call: Call[PauseBody, Nothing]) -> Response:
    """Pause a service: all its replicas, on all its streams."""
    operators_only(call, "streams need")
    pause = await call.api.store.groups.pause_group(_service(call.body.group), call.actor.label, call.body.reason or "")
    return respond(GroupPaused.of(pause, group=pause.name, paused=True, since=to_datetime(pause.paused_at)))


@Route("POST", "/v1/admin/groups:resume", permission=Permission.ADMIN, response=GroupPaused)
async def resume(call: Call[ResumeBody, Nothing]) -> Response:
    """Resume a paused service."""
    operators_only(call, "streams need")
    await call.api.store.groups.resume_group(_service(call.body.group))
    return respond(GroupPaused(group=call.body.group, paused=False))


@Route("POST", "/v1/admin/groups", permission=Permission.ADMIN, response=GroupRegistered)
async def register(call: Call[OutsideBody, Nothing]) -> Response:
    """Register an external consumer group: its stream keeps what it has not read."""
    operators_only(call, "streams need")
    body = call.body
    if body.group in known(call, body.stream).groups:
        raise Invalid("group", "belongs to a service: the stream waits for it already")
    made = await call.api.streams.make_group(body.stream, body.group, at_end=body.at_end)
    await call.api.store.groups.register_group(body.stream, body.group, call.actor.label, body.reason or "")
    return respond(GroupRegistered(stream=body.stream, group=body.group, registered=True, made=made))


@Route("DELETE", "/v1/admin/groups", permission=Permission.ADMIN, response=GroupRegistered, problems=(404,))
async def unregister(call: Call[Nothing, OutsideQuery]) -> Response:
    """Unregister an external consumer group: its stream no longer waits for it."""
    operators_only(call, "streams need")
    query = call.query
    if query.group in known(call, query.stream).groups:
        raise Invalid("group", "belongs to a service: stop the service, or pause the group")
    was = await call.api.store.groups.unregister_group(query.stream, query.group)
    if not was and not query.destroy:
        raise NotFound("no such group is registered for this stream")
    lost = await call.api.streams.drop_group(query.stream, query.group) if query.destroy else 0
    shown = GroupRegistered(
        stream=query.stream, group=query.group, registered=False, destroyed=query.destroy, lost=lost
    )
    return respond(shown)


def known(call: Call[Any, Any], stream: str) -> StreamSpec:
    """The spec of a stream. Raise `Invalid` if it is not one of ours."""
    spec = every_stream(call.api.settings.streams.bound_workspaces).get(stream)
    if spec is None:
        raise Invalid("stream", "is unknown: GET /v1/admin/streams lists them")
    return spec


def moment(milliseconds: int) -> datetime:
    """A time of the stream server as a datetime; capped, as a client may choose any entry id."""
    return to_datetime(min(milliseconds, _LAST) * 1000)


def _service(group: str) -> str:
    if group not in GROUPS:
        raise Invalid("group", f"must be the group of a service: {', '.join(GROUPS)}")
    return group


def _when(entry: str | None) -> datetime | None:
    """The time of an entry by its id. None if there is no entry, or its id was chosen by a client and is no time."""
    if entry is None:
        return None
    milliseconds = int(entry.partition("-")[0])
    return moment(milliseconds) if milliseconds < _LAST else None


_LAST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp() * 1000)


def _shown_stream(state: StreamState, paused: set[str]) -> StreamAnswer:
    groups = [
        {**asdict(group), "paused": group.readers == Readers.SERVICE and group.name in paused} for group in state.groups
    ]
    return StreamAnswer.of(state, begins_at=_when(state.first_id), groups=groups)
