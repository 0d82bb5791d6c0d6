"""Ticks are run by the tick service; here they are requested and watched."""

import asyncio

from openbrain.contract.vault.ticks import TickAccepted, TickAnswer, TickQuery, TickStateQuery
from openbrain.domain.errors import NotFound, TryLater
from openbrain.domain.ids import is_uuid, uuid7
from openbrain.domain.permissions import Permission
from openbrain.ports.vault import Tick, TickJob
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, answer
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.rendering import Json, to_iso
from openbrain_api.vaults.writes import vault_of

_PAUSE_S = 0.25


@Route(
    "POST", "/tick", permission=Permission.TICK_RUN, response=TickAccepted, statuses=(202,), problems=(404,), keyed=True
)
async def request_tick(call: Call[Nothing, TickQuery]) -> Response:
    """Keep the vault now.

    One for each `Idempotency-Key`; without, one for each request. A dry run takes no slot, whatever its key.
    """
    vault_of(call)
    query, api = call.query, call.api
    job_id, key = uuid7(api.clock.now()), parsing.idempotency_key(call.headers)
    job = TickJob(
        id=job_id,
        workspace_id=call.actor.workspace_id,
        slot=None if query.dry_run else f"key:{call.actor.key_id}:{key}" if key else f"job:{job_id}",
        actor=query.source or call.actor.label,
        extract=query.extract,
        ai=not query.no_ai,
        dry_run=query.dry_run,
    )
    tick = await api.store.ticks.request_tick(job)
    await api.wake.notify()
    shown = {
        "job_id": tick.job.id,
        "requested_at": to_iso(tick.requested_at),
        "request_path": f"/tick/{tick.job.id}",
        "dry_run": tick.job.dry_run,
        "no_ai": not tick.job.ai,
        "status": tick.state,
    }
    return answer(shown, shown, status=202)


@Route("GET", "/tick/{id}", permission=Permission.TICK_RUN, response=TickAnswer, problems=(404,))
async def tick(call: Call[Nothing, TickStateQuery]) -> Response:
    """One tick and its report; with wait=N as soon as it has ended.

    It is answered when the tick was put off, too.
    """
    vault_of(call)
    job_id = call.path["id"].lower()
    found = await call.api.store.ticks.tick(call.actor.workspace_id, job_id) if is_uuid(job_id) else None
    if found is None:
        raise NotFound("no tick with this id")
    shown = tick_json(await _ended(call, found))
    return answer(shown, shown)


async def _ended(call: Call[Nothing, TickStateQuery], found: Tick) -> Tick:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + call.query.wait
    while not (found.state.ended or found.put_off) and (left := deadline - loop.time()) > 0:
        await asyncio.sleep(min(_PAUSE_S, left))
        try:
            found = await call.api.store.ticks.tick(found.job.workspace_id, found.job.id) or found
        except TryLater:
            continue
    return found


def tick_json(found: Tick) -> Json:
    """`TickAnswer`."""
    job = found.job
    return {
        "job_id": job.id,
        "status": found.state,
        "slot": job.slot,
        "actor": job.actor,
        "dry_run": job.dry_run,
        "no_ai": not job.ai,
        "extract": job.extract,
        "requested_at": to_iso(found.requested_at),
        "started_at": None if found.started_at is None else to_iso(found.started_at),
        "finished_at": None if found.finished_at is None else to_iso(found.finished_at),
        "error": found.error or None,
        "report": dict(found.report) or None,
    }
