"""Halts: who must stop, who has, and who goes on."""

from dataclasses import replace
from typing import Any

from openbrain.contract.amygdala.signals import HaltAnswer, HaltList, HaltQuery, HaltsQuery, HaltStatus, NoteBody
from openbrain.domain.errors import NotFound
from openbrain.domain.ids import is_uuid
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.permissions import Permission
from openbrain.domain.signals.values import Halt, Subscriber, missing
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, answer
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.rendering import Json
from openbrain_api.signal_rendering import acks_json, halt_json

AGENTS = 20_000
"""Listeners and acknowledgements that a status counts at most."""
_PAGE = 1000


@Route("GET", "/v1/amygdala/halts", permission=Permission.BRAIN_READ, response=HaltList)
async def halts(call: Call[Nothing, HaltsQuery]) -> Response:
    """List halts, newest first."""
    query = call.query
    found = await call.api.store.halts.halts(
        call.actor.viewer(), query.limit, states=query.state, before=parsing.position(query.cursor)
    )
    data = {"halts": [halt_json(each) for each in found], "count": len(found)}
    last = found[-1] if len(found) == query.limit else None
    return answer({**data, "next_cursor": last and f"{last.raised_at}.{last.id}"}, data)


@Route("GET", "/v1/amygdala/halts/{id}", permission=Permission.BRAIN_READ, response=HaltStatus, problems=(404,))
async def halt(call: Call[Nothing, HaltQuery]) -> Response:
    """One halt: who has stopped, and who that listens has not."""
    found = await call.api.store.halts.halt(call.actor.viewer(), halt_id_of(call))
    if found is None:
        raise unknown_halt()
    within_s = call.query.within_s or round(call.api.settings.server.tuning.listening_s)
    shown = await _status(call, found, within_s)
    return answer(shown, shown)


@Route(
    "POST", "/v1/amygdala/halts/{id}/ack", permission=Permission.SIGNAL_ACK, response=HaltAnswer, problems=(404, 409)
)
async def acknowledge_halt(call: Call[NoteBody, Nothing]) -> Response:
    """Say that one has stopped."""
    eyes = replace(call.actor.viewer(), agent_id="")  # of a fleet they are the same
    found = await call.api.halt_acks.ask((eyes, halt_id_of(call)), call.actor.label)
    shown = halt_json(found)
    return answer(shown, shown)


@Route("POST", "/v1/amygdala/halts/{id}/resume", permission=Permission.ADMIN, response=HaltAnswer, problems=(404, 409))
async def resume_halt(call: Call[NoteBody, Nothing]) -> Response:
    """End a halt: everyone goes on."""
    viewer = call.actor.viewer()
    found = await call.api.store.halts.resume_halt(viewer, halt_id_of(call), call.actor.label, call.body.note or "")
    await call.api.wake.notify()
    shown = halt_json(found)
    return answer(shown, shown)


def halt_id_of(call: Call[Any, Any]) -> str:
    """The id in the path; `NotFound` for one that can't be any halt's."""
    given = call.path["id"].lower()
    if not is_uuid(given):
        raise unknown_halt()
    return given


def unknown_halt() -> NotFound:
    """The same for a foreign one and for one that never was."""
    return NotFound("no halt with this id")


async def _status(call: Call[Any, Any], found: Halt, within_s: int) -> Json:
    acks = await call.api.store.halts.halt_acks(call.actor.viewer(), found.id, AGENTS)
    since = call.api.clock.now() - within_s * MICROSECONDS
    if call.actor.orgs is None:
        known = await _listening(call, since)
    else:  # whoever was ever heard of elsewhere is none of his business
        known = await _listening(call, 0)
        own = {each.agent_id for each in known} | {call.actor.label}
        acks = [each for each in acks if each.agent_id in own]
        known = [each for each in known if each.seen_at >= since]
    listening = [each for each in known if found.concerns(each.org, each.project)]
    return {
        **halt_json(found),
        "acks": acks_json(acks),
        "missing": missing(found, listening, acks),
        "listening": len(listening),
        "within_s": within_s,
    }


async def _listening(call: Call[Any, Any], since: int) -> list[Subscriber]:
    actor, found = call.actor, list[Subscriber]()
    while len(found) < AGENTS:
        after = found[-1].agent_id if found else ""
        page = await call.api.store.broadcasts.subscribers(
            actor.workspace_id, since, _PAGE, after, viewer=actor.viewer()
        )
        found += page
        if len(page) < _PAGE:
            break
    return found
