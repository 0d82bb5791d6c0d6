"""Ticks: request one, and watch it. The tick service runs them."""

import asyncio
from hashlib import sha256

from openbrain.contract.vault.ticks import TickAccepted, TickAnswer, TickBody, TickQuery, TickStateQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import TryLater
from openbrain.domain.ids import uuid7
from openbrain.domain.times import to_datetime
from openbrain.ports.store.vault import Tick, TickJob
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.vaults.writes import vault_of

_PAUSE_S = 0.25
_SLOT_KEY_CHARS = 200


@Route(
    "POST", "/tick", permission=Permission.TICK_RUN, response=TickAccepted, statuses=(202,), problems=(404,), keyed=True
)
async def request_tick(call: Call[TickBody, TickQuery]) -> Response:
    """Run a tick of the vault now.

    One per `Idempotency-Key`; without a key, one per request. A dry run takes no slot, with or without a key.
    """
    vault_of(call)
    query, api = call.query, call.api
    job_id, key = uuid7(api.clock.now()), parsing.idempotency_key(call.headers)
    job = TickJob(
        id=job_id,
        workspace_id=call.actor.workspace_id,
        slot=None if query.dry_run else _slot(call.actor.key_id, key) if key else f"job:{job_id}",
        actor=query.source or call.actor.label,
        extract=query.extract,
        ai=not query.no_ai,
        dry_run=query.dry_run,
    )
    tick = await api.store.ticks.request_tick(job)
    await api.wake.notify()
    shown = TickAccepted.of(
        tick.job,
        job_id=tick.job.id,
        requested_at=to_datetime(tick.requested_at),
        request_path=f"/tick/{tick.job.id}",
        no_ai=not tick.job.ai,
        status=tick.state,
    )
    return respond(shown, status=202)


@Route("GET", "/tick/{id}", permission=Permission.TICK_RUN, response=TickAnswer, problems=(404,))
async def tick(call: Call[Nothing, TickStateQuery]) -> Response:
    """One tick and its report; with wait=N, answer as soon as it has ended.

    The wait also ends if the tick is postponed.
    """
    vault_of(call)
    job_id = parsing.id_in(call.path, "tick")
    row = parsing.found(await call.api.store.ticks.tick(call.actor.workspace_id, job_id), "tick")
    row = await _until_ended(call, row)
    shown = TickAnswer.of(
        row,
        **{name: getattr(row.job, name) for name in ("slot", "actor", "dry_run", "extract")},
        job_id=row.job.id,
        status=row.state,
        no_ai=not row.job.ai,
        report=dict(row.report) or None,
    )
    return respond(shown)


async def _until_ended(call: Call[Nothing, TickStateQuery], row: Tick) -> Tick:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + call.query.wait
    while not (row.state.ended or row.put_off) and (left := deadline - loop.time()) > 0:
        await asyncio.sleep(min(_PAUSE_S, left))
        try:
            row = await call.api.store.ticks.tick(row.job.workspace_id, row.job.id) or row
        except TryLater:
            continue
    return row


def _slot(key_id: str, key: str) -> str:
    """The slot of a key. A long key is hashed: a slot has at most 255 characters."""
    named = key if len(key) <= _SLOT_KEY_CHARS else sha256(key.encode()).hexdigest()
    return f"key:{key_id}:{named}"
