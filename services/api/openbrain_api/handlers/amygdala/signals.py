"""Signals: raise, list, show, acknowledge, resolve."""

from typing import Any

from openbrain.contract.amygdala.signals import (
    AckBody,
    Acknowledged,
    HaltAnswer,
    HaltBody,
    NoteBody,
    SignalAnswer,
    SignalBody,
    SignalDetail,
    SignalLine,
    SignalList,
    SignalRaised,
    SignalsQuery,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, Invalid
from openbrain.domain.events import data as events
from openbrain.domain.signals.rules import checked
from openbrain.domain.signals.values import HaltScope, Severity, Step
from openbrain.ports.store.signals import RaiseStatus, SignalChange
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route

_FIELDS = tuple(SignalBody.model_fields)
MOST_SHOWN = 1000
"""Most acknowledgements, and most lines of history, in one response."""


@Route(
    "POST",
    "/v1/amygdala/signals",
    permission=Permission.SIGNAL_RAISE,
    response=SignalRaised,
    statuses=(200, 201),
    problems=(404, 409),
    keyed=True,
)
async def raise_signal(call: Call[SignalBody, Nothing]) -> Response:
    """Raise a signal: it is broadcast to every agent of the workspace.

    The signal and its broadcast are stored before the answer.
    """
    body = call.body
    if body.model_extra and (body.halt or body.severity is Severity.NUCLEAR):
        raise Invalid(next(iter(body.model_extra)), f"is unknown: there are {', '.join(_FIELDS)}")
    event = events.SignalRaised(workspace_id=call.actor.workspace_id, **{name: getattr(body, name) for name in _FIELDS})
    return await _raised(call, event)


@Route(
    "POST",
    "/v1/amygdala/halts",
    permission=Permission.SIGNAL_RAISE,
    response=SignalRaised,
    statuses=(200, 201),
    problems=(404, 409),
    keyed=True,
)
async def raise_halt(call: Call[HaltBody, Nothing]) -> Response:
    """Halt the fleet: raise a nuclear signal that tells everyone in its scope to stop."""
    body = call.body
    event = events.SignalRaised(
        workspace_id=call.actor.workspace_id,
        source=body.source or call.actor.label,
        severity=Severity.NUCLEAR,
        title=body.title,
        content=body.content,
        dedup_key=body.dedup_key,
        ttl_s=body.ttl_s,
        halt=True,
        halt_scope=body.scope,
        org=body.org,
        project=body.project,
    )
    return await _raised(call, event)


@Route("GET", "/v1/amygdala/signals", permission=Permission.BRAIN_READ, response=SignalList)
async def signals(call: Call[Nothing, SignalsQuery]) -> Response:
    """List signals, newest first."""
    query = call.query
    call.actor.may_ask_for(query.org or "")
    rows = await call.api.store.signals.signals(
        call.actor.viewer(), query.filter(), query.limit + 1, before=parsing.position(query.cursor)
    )
    rows, following = parsing.page_of(rows, query.limit, "first_raised_at")
    shown = tuple(SignalAnswer.of(row) for row in rows)
    return respond_page(SignalList(signals=shown, count=len(shown), next_cursor=following))


@Route("GET", "/v1/amygdala/signals/{id}", permission=Permission.BRAIN_READ, response=SignalDetail, problems=(404,))
async def signal(call: Call[Nothing, Nothing]) -> Response:
    """One signal, who has seen it, and what happened to it."""
    viewer, signal_id = call.actor.viewer(), parsing.id_in(call.path, "signal")
    row = parsing.found(await call.api.store.signals.signal(viewer, signal_id), "signal")
    acks = await call.api.store.signals.signal_acks(viewer, signal_id, MOST_SHOWN)
    history = await call.api.store.signals.signal_history(viewer, signal_id, MOST_SHOWN)
    shown = SignalDetail.of(
        row, acks=[Acknowledged.of(ack) for ack in acks], history=[SignalLine.of(line) for line in history]
    )
    return respond(shown)


@Route(
    "POST",
    "/v1/amygdala/signals/{id}/ack",
    permission=Permission.SIGNAL_ACK,
    response=SignalAnswer,
    problems=(404, 409),
)
async def acknowledge_signal(call: Call[AckBody, Nothing]) -> Response:
    """Acknowledge a signal: it was seen."""
    return await _changed(call, Step.ACKNOWLEDGED, call.body.note, call.body.seq)


@Route(
    "POST",
    "/v1/amygdala/signals/{id}/resolve",
    permission=Permission.SIGNAL_ACK,
    response=SignalAnswer,
    problems=(404, 409),
)
async def resolve_signal(call: Call[NoteBody, Nothing]) -> Response:
    """Resolve a signal: its cause is over."""
    return await _changed(call, Step.RESOLVED, call.body.note, None)


async def _changed(call: Call[Any, Any], step: Step, note: str | None, seq: int | None) -> Response:
    change = SignalChange(
        workspace_id=call.actor.workspace_id,
        step=step,
        viewer=call.actor.viewer(),
        actor=call.actor.label,
        signal_id=parsing.id_in(call.path, "signal"),
        seq=seq,
        note=note or "",
    )
    changed = await call.api.store.signals.change_signal(change)
    await call.api.wake.notify()
    return respond(SignalAnswer.of(changed))


async def _raised(call: Call[Any, Any], event: events.SignalRaised) -> Response:
    """Raise the signal. Unlike writes it is never refused for a backlog: signals report backlogs."""
    actor = call.actor
    made = checked(
        event,
        actor=actor.label,
        at=call.api.clock.now(),
        key=_key(call),
        traceparent=call.traceparent,
    )
    actor.may_write_to(made.org)
    if made.halts and made.halt_scope is HaltScope.WORKSPACE and actor.orgs is not None:
        raise Forbidden("this key is limited to its orgs: name one of them in org, and org as the scope of the halt")
    (outcome,) = await call.api.store.signals.raise_signals([made])
    if outcome.error is not None:
        raise outcome.error
    await call.api.wake.notify()
    shown = SignalRaised(
        status=outcome.status,
        signal=outcome.signal and SignalAnswer.of(outcome.signal),
        halt=outcome.halt and HaltAnswer.of(outcome.halt),
    )
    return respond(shown, status=201 if outcome.status is RaiseStatus.CREATED else 200)


def _key(call: Call[Any, Any]) -> str:
    given = parsing.idempotency_key(call.headers)
    return f"{call.actor.key_id}:{given}" if given else ""
