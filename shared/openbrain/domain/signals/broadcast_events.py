"""Broadcasts as encoded events."""

from pydantic_core import from_json, to_json

from openbrain.domain.events.data import Broadcast
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import BROADCAST
from openbrain.domain.ids import uuid7
from openbrain.domain.signals.values import Halt, HaltScope, HaltState, Signal, Step
from openbrain.domain.times import to_iso

VEILED = ("title", "content", "source", "actor", "org", "project")


def broadcast_event(
    signal: Signal, halt: Halt | None, change: Step, actor: str, at: int, traceparent: str | None = None
) -> bytes:
    """Encode the event for the current state of a signal and its halt, with the signal's seq."""
    data = Broadcast(
        seq=signal.seq,
        signal_id=signal.id,
        change=change,
        state=signal.state,
        severity=signal.broadcast_severity,
        raised_severity=signal.severity,
        halt=halt is not None and halt.state is HaltState.OPEN,
        halt_id=None if halt is None else halt.id,
        halt_state=None if halt is None else halt.state,
        halt_scope=None if halt is None else halt.scope,
        halt_expires_at=None if halt is None or halt.expires_at is None else to_iso(halt.expires_at),
        title=signal.title,
        content=signal.content,
        source=signal.source,
        org=signal.org or None,
        project=signal.project or None,
        count=signal.count,
        storm=signal.storm,
        actor=actor,
        raised_at=to_iso(signal.first_raised_at),
        expires_at=None if signal.expires_at is None else to_iso(signal.expires_at),
    )
    return encode(BROADCAST.name, data, event_id=uuid7(at), at=at, subject=signal.id, traceparent=traceparent)


def for_everyone(halt: Halt | None, change: Step) -> bool:
    """True if the broadcast also concerns readers who do not see the signal's org."""
    if halt is None or halt.scope is not HaltScope.WORKSPACE:
        return False
    return halt.state is HaltState.OPEN or change in (Step.RESUMED, Step.HALT_EXPIRED)


def veiled(body: bytes) -> bytes:
    """Return the event for readers who may know that everyone halts, but not why."""
    event = from_json(body)
    data = {name: value for name, value in event["data"].items() if name not in VEILED}
    data |= {"title": "halt", "content": "", "source": "halt"}
    return to_json({**event, "data": data})


def renumbered(body: bytes, seq: int, at: int) -> bytes:
    """Repeat an event with another number."""
    event = from_json(body)
    event["data"]["seq"] = seq
    return to_json({**event, "id": uuid7(at)})
