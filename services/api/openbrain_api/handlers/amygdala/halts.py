"""Halts: list, show with acknowledgements, acknowledge, resume."""

from dataclasses import replace
from typing import Any

from openbrain.contract.amygdala.signals import (
    Acknowledged,
    HaltAnswer,
    HaltList,
    HaltQuery,
    HaltsQuery,
    HaltStatus,
    NoteBody,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import Halt, Subscriber, missing
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route

AGENTS = 20_000
"""Most listeners and acknowledgements that a status counts."""
_PAGE = 1000


@Route("GET", "/v1/amygdala/halts", permission=Permission.BRAIN_READ, response=HaltList)
async def halts(call: Call[Nothing, HaltsQuery]) -> Response:
    """List halts, newest first."""
    query = call.query
    rows = await call.api.store.halts.halts(
        call.actor.viewer(), query.limit + 1, states=query.state, before=parsing.position(query.cursor)
    )
    rows, following = parsing.page_of(rows, query.limit, "raised_at")
    shown = tuple(HaltAnswer.of(row) for row in rows)
    return respond_page(HaltList(halts=shown, count=len(shown), next_cursor=following))


@Route("GET", "/v1/amygdala/halts/{id}", permission=Permission.BRAIN_READ, response=HaltStatus, problems=(404,))
async def halt(call: Call[Nothing, HaltQuery]) -> Response:
    """One halt: which agents have stopped, and which listening ones have not."""
    halt_id = parsing.id_in(call.path, "halt")
    row = parsing.found(await call.api.store.halts.halt(call.actor.viewer(), halt_id), "halt")
    within_s = call.query.within_s or round(call.api.settings.server.tuning.listening_s)
    return respond(await _status(call, row, within_s))


@Route(
    "POST", "/v1/amygdala/halts/{id}/ack", permission=Permission.SIGNAL_ACK, response=HaltAnswer, problems=(404, 409)
)
async def acknowledge_halt(call: Call[NoteBody, Nothing]) -> Response:
    """Acknowledge a halt: the agent has stopped."""
    viewer = replace(call.actor.viewer(), agent_id="")  # equal for the agents of a fleet, whose calls are combined
    key = viewer, parsing.id_in(call.path, "halt")
    return respond(HaltAnswer.of(await call.api.halt_acks.call(key, call.actor.label)))


@Route("POST", "/v1/amygdala/halts/{id}/resume", permission=Permission.ADMIN, response=HaltAnswer, problems=(404, 409))
async def resume_halt(call: Call[NoteBody, Nothing]) -> Response:
    """End a halt: everyone may continue."""
    viewer, halt_id = call.actor.viewer(), parsing.id_in(call.path, "halt")
    resumed = await call.api.store.halts.resume_halt(viewer, halt_id, call.actor.label, call.body.note or "")
    await call.api.wake.notify()
    return respond(HaltAnswer.of(resumed))


async def _status(call: Call[Any, Any], row: Halt, within_s: int) -> HaltStatus:
    acks = await call.api.store.halts.halt_acks(call.actor.viewer(), row.id, AGENTS)
    since = call.api.clock.now() - within_s * MICROSECONDS
    if call.actor.orgs is None:
        known = await _listening(call, since)
    else:  # agents seen only in other orgs are hidden from this key
        known = await _listening(call, 0)
        own = {agent.agent_id for agent in known} | {call.actor.label}
        acks = [ack for ack in acks if ack.agent_id in own]
        known = [agent for agent in known if agent.seen_at >= since]
    listening = [agent for agent in known if row.concerns(agent.org, agent.project)]
    return HaltStatus.of(
        row,
        acks=[Acknowledged.of(ack) for ack in acks],
        missing=missing(row, listening, acks),
        listening=len(listening),
        within_s=within_s,
    )


async def _listening(call: Call[Any, Any], since: int) -> list[Subscriber]:
    actor, agents = call.actor, list[Subscriber]()
    while len(agents) < AGENTS:
        after = agents[-1].agent_id if agents else ""
        page = await call.api.store.broadcasts.subscribers(
            actor.workspace_id, since, _PAGE, after, viewer=actor.viewer()
        )
        agents += page
        if len(page) < _PAGE:
            break
    return agents
