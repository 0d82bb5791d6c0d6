"""remember, update, forget."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.memory import Memory
from openbrain.domain.times import from_datetime
from openbrain.domain.visibility import Viewer
from openbrain.observability import metrics
from openbrain.ports.store import Origin, Outcome, Status, Write
from openbrain.usecases.auth import Actor
from openbrain.usecases.remember import HOUR, Change, Offer, prepare, prepare_edit
from openbrain_api.chains import NOTHING
from openbrain_api.http import reading
from openbrain_api.http.entity_tags import tagged
from openbrain_api.http.reply import Reply, answer, problem_fields
from openbrain_api.http.route import Call, Nothing
from openbrain_api.rendering import Json, memory_json
from openbrain_api.requests.memories import (
    BatchBody,
    BatchItemBody,
    ForgetBody,
    ForgetQuery,
    PatchBody,
    RememberBody,
    RestoreBody,
    SessionQuery,
)
from openbrain_api.writing.waiting import settled


async def remember(call: Call[RememberBody, Nothing]) -> Reply:
    """Store one memory, or answer with the one that stands for the same content."""
    write = prepare(_offer(call, call.body, _key(call)), clock=call.api.clock, gate=call.api.gate)
    outcome = await call.api.committer.remember(write)
    if outcome.memory is None:
        raise outcome.error or AssertionError("a refused write carries its error")
    memory, headers = await _awaited(call, outcome.memory)
    duplicate = outcome.status is Status.DUPLICATE
    shown = await _shown(call, memory, write.viewer)
    return answer({**shown, "duplicate": duplicate}, shown, status=200 if duplicate else 201, headers=headers)


async def remember_batch(call: Call[BatchBody, Nothing]) -> Reply:
    """Store many, each on its own."""
    key = _key(call)
    prepared = [_prepared(call, item, f"{key}#{place}" if key else "") for place, item in enumerate(call.body.memories)]
    stored = iter(await call.api.committer.remember_all([each for each in prepared if isinstance(each, Write)]))
    outcomes = [next(stored) if isinstance(each, Write) else each for each in prepared]
    ids = [outcome.memory.id for outcome in outcomes if outcome.memory is not None]
    rows, headers = await _all_awaited(call, list(dict.fromkeys(ids)))
    results = [_batch_item(outcome, rows, call.api.clock.now()) for outcome in outcomes]
    return answer({"results": results, "count": len(ids)}, {"results": results, "count": len(ids)}, headers=headers)


async def update(call: Call[PatchBody, SessionQuery]) -> Reply:
    """Change one memory."""
    edit = prepare_edit(
        reading.memory_id(call.path),
        _change(call.body),
        actor=call.actor,
        session_id=call.query.session_id or "",
        origin=origin_of(call, call.actor),
        clock=call.api.clock,
        gate=call.api.gate,
    )
    memory = await call.api.truth.update(replace(edit, editions=reading.editions(call.headers)))
    return await changed(call, memory)


async def forget(call: Call[ForgetBody, ForgetQuery]) -> Reply:
    """End one memory; again gives the same answer."""
    memory = await call.api.truth.forget(
        reading.memory_id(call.path),
        call.actor.viewer(call.query.session_id or ""),
        origin_of(call, call.actor),
        call.body.reason or call.query.reason or "",
        reading.editions(call.headers),
    )
    return await changed(call, memory, forgotten=True)


async def restore(call: Call[RestoreBody, SessionQuery]) -> Reply:
    """Bring one memory back; again gives the same answer."""
    memory = await call.api.truth.restore(
        reading.memory_id(call.path),
        call.actor.viewer(call.query.session_id or ""),
        origin_of(call, call.actor),
        call.body.reason or "",
        reading.editions(call.headers),
    )
    return await changed(call, memory)


async def changed(call: Call[Any, Any], memory: Memory, **beside: object) -> Reply:
    """The answer to a change that has been committed, with what stands beside the memory."""
    call.api.committer.hint()
    memory, headers = await _awaited(call, memory)
    shown = await _shown(call, memory, call.actor.viewer(call.query.session_id or ""))
    told = {**shown, **beside}
    return answer(told, told, headers=tagged(memory, shown, headers))


def _key(call: Call[Any, Any]) -> str:
    return reading.idempotency_key(call.headers)


def origin_of(call: Call[Any, Any], actor: Actor) -> Origin:
    """Who does what a request asks for."""
    return Origin(actor=actor.label, traceparent=metrics.traceparent() or reading.traceparent(call.headers))


def _offer(call: Call[Any, Any], body: RememberBody, key: str) -> Offer:
    actor = call.actor.speaking_as(body.agent_id)
    return Offer(
        submission=body,
        actor=actor,
        origin=origin_of(call, actor),
        idempotency_key=key,
        key_lifetime=call.api.settings.housekeeping.request_key_hours * HOUR,
    )


def _prepared(call: Call[BatchBody, Nothing], item: object, key: str) -> Write | Outcome:
    try:
        body = BatchItemBody.model_validate(item)
        return prepare(_offer(call, body, body.idempotency_key or key), clock=call.api.clock, gate=call.api.gate)
    except ValidationError as error:
        return Outcome(Status.REFUSED, error=reading.told(error))
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
    return Change(
        content=body.content,
        tags=body.tags,
        metadata=body.metadata,
        type=body.type,
        confidence=body.confidence,
        source=body.source,
        expires_in=body.expires_in,
        expires_at=None if body.expires_at is None else from_datetime(body.expires_at),
        lasts=body.expires_at is None and "expires_at" in body.model_fields_set,
        confirm=body.confirm,
    )


async def _awaited(call: Call[Any, Any], memory: Memory) -> tuple[Memory, Mapping[str, str]]:
    rows, headers = await _all_awaited(call, [memory.id])
    return rows.get(memory.id, memory), headers


async def _all_awaited(call: Call[Any, Any], ids: list[str]) -> tuple[Mapping[str, Memory], Mapping[str, str]]:
    asked = reading.wait_seconds(call.headers)
    usual = 0 if reading.at_once(call.headers) else call.api.settings.server.wait_s
    if not ids or (asked is None and not usual):
        return {}, {}
    seconds = usual if asked is None else asked
    rows = await settled(ids, seconds, truth=call.api.truth, clock=call.api.clock)
    return rows, {} if asked is None else {"preference-applied": f"wait={seconds}"}


async def _shown(call: Call[Any, Any], memory: Memory, viewer: Viewer) -> Json:
    behind = await call.api.chains.behind((memory,), viewer)
    return memory_json(memory, call.api.clock.now(), behind.get(memory.id, NOTHING))
