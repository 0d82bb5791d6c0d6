"""Memories: store, list, show, change, restore."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from openbrain.contract.brain.filters import SessionQuery
from openbrain.contract.brain.memories import (
    BatchBody,
    BatchItemBody,
    Listed,
    ListQuery,
    MemoryAnswer,
    MemoryDetail,
    MemoryQuery,
    PatchBody,
    RememberBody,
    Remembered,
    RememberedBatch,
    RestoreBody,
)
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer, visible
from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.memory import HOUR, Memory, State
from openbrain.domain.times import from_datetime
from openbrain.ports.store.writes import Outcome, Status, Write
from openbrain.usecases.remember import Change, Offer, prepare, prepare_edit
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, problem_fields, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.chains import may_see, require_visible, visible_memory
from openbrain_api.memories.past_lines import seen_lines
from openbrain_api.memories.rendering import Json, history_line, memories_json, named_memories, tagged

LINEAGE = 100
_FIRST_LOOK_S = 0.01
_LONGEST_PAUSE_S = 0.1


@Route(
    "POST",
    "/v1/brain/remember",
    permission=Permission.BRAIN_WRITE,
    response=Remembered,
    statuses=(200, 201),
    problems=(409,),
    waits=True,
    keyed=True,
    gated=False,
    stores=True,
)
async def remember(call: Call[RememberBody, Nothing]) -> Response:
    """Store one memory.

    If a memory already holds the same content, that one is returned.
    """
    key = parsing.idempotency_key(call.headers)
    write = prepare(_offer(call, call.body, key), clock=call.api.clock, content_policy=call.api.content_policy)
    outcome = await call.api.committer.remember(write)
    if outcome.memory is None:
        raise outcome.error or AssertionError("a refused write carries its error")
    memory, headers = await _awaited(call, outcome.memory)
    duplicate = outcome.status is Status.DUPLICATE
    if duplicate:
        require_visible(write.viewer, memory)
    shown = await shown_memory(call, memory, write.viewer)
    return respond({**shown, "duplicate": duplicate}, shown, status=200 if duplicate else 201, headers=headers)


@Route(
    "POST",
    "/v1/brain/remember:batch",
    permission=Permission.BRAIN_WRITE,
    response=RememberedBatch,
    waits=True,
    keyed=True,
    cost=10,
    body_bytes=limits.BODY_BYTES,
    gated=False,
    stores=True,
)
async def remember_batch(call: Call[BatchBody, Nothing]) -> Response:
    """Store up to 500 memories; each succeeds or fails on its own."""
    key = parsing.idempotency_key(call.headers)
    prepared = []
    for number, given in enumerate(call.body.memories):
        prepared.append(_prepared(call, given, parsing.part_key(key, number)))
        await asyncio.sleep(0)  # a long text takes milliseconds: let other requests run
    outcomes = await call.api.committer.remember_each(prepared)
    ids = [outcome.memory.id for outcome in outcomes if outcome.memory is not None]
    rows, headers = await _all_awaited(call, list(dict.fromkeys(ids)))
    results = [_batch_item(outcome, rows, call.api.clock.now()) for outcome in outcomes]
    return respond({"results": results, "count": len(ids)}, headers=headers)


@Route("GET", "/v1/brain/list", permission=Permission.BRAIN_READ, response=Listed)
async def listing(call: Call[Nothing, ListQuery]) -> Response:
    """List the newest memories."""
    query, now = call.query, call.api.clock.now()
    call.actor.may_ask_for(query.org or "")
    viewer = await call.viewer(query.session_id)
    condition = visible(viewer, query.criteria(), now)
    rows = await call.api.store.memories.listing(
        condition, query.limit + 1, parsing.position(query.cursor), archived=query.include_archived
    )
    rows, following = parsing.page_of(rows, query.limit)
    shown = await memories_json(rows, now, call.api.chains, viewer)
    data = {"memories": orjson.Fragment(orjson.dumps([*shown.values()])), "count": len(rows)}
    return respond({**data, "next_cursor": following}, data)


@Route(
    "GET",
    "/v1/brain/memories/{id}",
    permission=Permission.BRAIN_READ,
    response=MemoryDetail,
    problems=(404,),
    matched=True,
)
async def memory(call: Call[Nothing, MemoryQuery]) -> Response:
    """One memory, with its history on request."""
    memory_id = parsing.id_in(call.path, "memory")
    viewer = await call.viewer(call.query.session_id)
    row = parsing.found(await visible_memory(memory_id, viewer, call.api.store.memories), "memory")
    shown = await shown_memory(call, row, viewer)
    if call.query.history:
        most = call.query.limit
        lines = await call.api.store.memories.history(memory_id, most + 1, int(call.query.cursor or 0))
        if Permission.ADMIN not in call.actor.permissions:  # whose exports hold all of it
            lines = await seen_lines(lines, row, viewer, call.api.store.memories)
        ancestry = await call.api.store.memories.ancestry(memory_id, LINEAGE)
        others = await call.api.store.memories.rows([*{*ancestry.parents, *ancestry.children, *named_memories(lines)}])
        visible_ids = {other.id for other in others.values() if may_see(viewer, other)}
        shown["history"] = [history_line(line, visible_ids) for line in lines[:most]]
        if len(lines) > most:
            shown["next_cursor"] = str(lines[most - 1].number)
        shown["lineage"] = {
            "parents": [parent for parent in ancestry.parents if parent in visible_ids],
            "children": [child for child in ancestry.children if child in visible_ids],
        }
    return parsing.unless_held(call.headers, respond(shown, headers=tagged(row, shown)))


@Route(
    "PATCH",
    "/v1/brain/memories/{id}",
    permission=Permission.BRAIN_WRITE,
    response=MemoryAnswer,
    problems=(404, 409),
    waits=True,
    matched=True,
    gated=False,
    stores=True,
)
async def update(call: Call[PatchBody, SessionQuery]) -> Response:
    """Change one memory."""
    edit = prepare_edit(
        parsing.id_in(call.path, "memory"),
        _change(call.body),
        actor=call.actor,
        session_id=call.query.session_id or "",
        origin=call.origin(),
        clock=call.api.clock,
        content_policy=call.api.content_policy,
    )
    memory = await call.api.store.writes.update(
        replace(edit, expected_versions=parsing.expected_versions(call.headers))
    )
    return await changed(call, memory)


@Route(
    "POST",
    "/v1/brain/memories/{id}:restore",
    permission=Permission.BRAIN_WRITE,
    response=MemoryAnswer,
    problems=(404, 409),
    waits=True,
    matched=True,
    stores=True,
)
async def restore(call: Call[RestoreBody, SessionQuery]) -> Response:
    """Restore one ended memory to recall.

    A repeated request gets the same answer.
    """
    memory = await call.api.store.writes.restore(
        parsing.id_in(call.path, "memory"),
        call.actor.viewer(call.query.session_id or ""),
        call.origin(),
        call.body.reason or "",
        parsing.expected_versions(call.headers),
    )
    return await changed(call, memory)


async def changed(call: Call[Any, Any], memory: Memory, **others: object) -> Response:
    """The answer to a committed change: the memory, and the members `others`."""
    call.api.committer.hint()
    memory, headers = await _awaited(call, memory)
    shown = await shown_memory(call, memory, call.actor.viewer(call.query.session_id or ""))
    return respond({**shown, **others}, headers=tagged(memory, shown, headers))


def _offer(call: Call[Any, Any], body: RememberBody, key: str) -> Offer:
    actor = call.actor.speaking_as(body.agent_id)
    return Offer(
        submission=body,
        actor=actor,
        origin=call.origin(actor),
        idempotency_key=key,
        key_lifetime=call.api.settings.housekeeping.tuning.request_key_hours * HOUR,
    )


def _prepared(call: Call[BatchBody, Nothing], item: object, key: str) -> Write | Outcome:
    try:
        body = parsing.parse_item(BatchItemBody, item)
        offer = _offer(call, body, body.idempotency_key or key)
        return prepare(offer, clock=call.api.clock, content_policy=call.api.content_policy)
    except OpenBrainError as error:
        return Outcome(Status.REFUSED, error=error)


def _batch_item(outcome: Outcome, rows: Mapping[str, Memory], now: int) -> Json:
    if outcome.memory is None:
        return {"status": outcome.status, "id": None, **problem_fields(outcome.error or AssertionError())}
    memory = rows.get(outcome.memory.id, outcome.memory)
    return {
        "id": memory.id,
        "status": outcome.status,
        "duplicate": outcome.status is Status.DUPLICATE,
        "indexed": memory.indexed,
        "state": memory.state(now),
    }


def _change(body: PatchBody) -> Change:
    at = body.expires_at
    given = {**dict(body), "expires_at": None if at is None else from_datetime(at)}
    return Change(**given, lasts=at is None and "expires_at" in body.model_fields_set)


async def _awaited(call: Call[Any, Any], memory: Memory) -> tuple[Memory, Mapping[str, str]]:
    rows, headers = await _all_awaited(call, [memory.id])
    return rows.get(memory.id, memory), headers


async def _all_awaited(call: Call[Any, Any], ids: list[str]) -> tuple[Mapping[str, Memory], Mapping[str, str]]:
    preferred = parsing.wait_seconds(call.headers)
    usual = 0 if parsing.at_once(call.headers) else call.api.settings.server.wait_s
    if not ids or (preferred is None and not usual):
        return {}, {}
    seconds = usual if preferred is None else preferred
    rows = await _settled(call, ids, seconds)
    return rows, {} if preferred is None else {"preference-applied": f"wait={seconds}"}


async def shown_memory(call: Call[Any, Any], memory: Memory, viewer: Viewer) -> Json:
    """The memory as the viewer may see it."""
    return (await memories_json((memory,), call.api.clock.now(), call.api.chains, viewer))[memory.id]


async def _settled(call: Call[Any, Any], ids: Sequence[str], seconds: float) -> Mapping[str, Memory]:
    """Return the rows once both indexes are up to date with them or indexing failed, at the latest after `seconds`.
    Return none if the database does not answer."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    pause = _FIRST_LOOK_S
    while True:
        try:
            rows = await call.api.store.memories.rows(ids)
        except TryLater:
            return {}  # the write is committed; only its indexing state is unknown now
        now = call.api.clock.now()
        left = deadline - loop.time()
        if left <= 0 or all(row.indexed or row.state(now) is State.FAILED for row in rows.values()):
            return rows
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
