"""Signals, halts and listeners as JSON objects: the shapes of `openbrain.contract.signals`."""

from collections.abc import Iterable

from openbrain.domain.signals.values import Acknowledgement, Halt, Present, Signal, Subscriber
from openbrain.ports.signals import SignalEntry
from openbrain_api.rendering import Json, to_iso


def _at(at: int | None) -> str | None:
    return None if at is None else to_iso(at)


def signal_json(signal: Signal) -> Json:
    """`SignalAnswer`."""
    return {
        "id": signal.id,
        "source": signal.source,
        "title": signal.title,
        "content": signal.content,
        "severity": signal.severity,
        "broadcast_severity": signal.broadcast_severity,
        "state": signal.state,
        "org": signal.org or None,
        "project": signal.project or None,
        "dedup_key": signal.dedup_key or None,
        "count": signal.count,
        "storm": signal.storm,
        "first_raised_at": to_iso(signal.first_raised_at),
        "last_raised_at": to_iso(signal.last_raised_at),
        "expires_at": _at(signal.expires_at),
        "acknowledged_at": _at(signal.acknowledged_at),
        "acknowledged_by": signal.acknowledged_by or None,
        "ended_at": _at(signal.ended_at),
        "ended_by": signal.ended_by or None,
        "note": signal.note or None,
        "seq": signal.seq,
    }


def halt_json(halt: Halt) -> Json:
    """`HaltAnswer`."""
    return {
        "id": halt.id,
        "signal_id": halt.signal_id,
        "scope": halt.scope,
        "org": halt.org or None,
        "project": halt.project or None,
        "state": halt.state,
        "title": halt.title,
        "raised_by": halt.raised_by,
        "raised_at": to_iso(halt.raised_at),
        "expires_at": _at(halt.expires_at),
        "ended_at": _at(halt.ended_at),
        "ended_by": halt.ended_by or None,
        "note": halt.note or None,
        "seq": halt.seq,
    }


def acks_json(acks: Iterable[Acknowledgement]) -> list[Json]:
    """Each `Acknowledged`."""
    return [{"agent_id": each.agent_id, "at": to_iso(each.at)} for each in acks]


def line_json(line: SignalEntry) -> Json:
    """`SignalLine`."""
    return {
        "seq": line.seq,
        "step": line.step,
        "actor": line.actor,
        "at": to_iso(line.at),
        "state": line.state,
        "severity": line.severity,
        "broadcast_severity": line.broadcast_severity,
        "count": line.count,
        "note": line.note or None,
        "halt_id": line.halt_id or None,
    }


def subscriber_json(subscriber: Subscriber) -> Json:
    """`SubscriberAnswer`."""
    return {
        "agent_id": subscriber.agent_id,
        "cursor": subscriber.cursor,
        "via": subscriber.via or None,
        "org": subscriber.org or None,
        "project": subscriber.project or None,
        "seen_at": to_iso(subscriber.seen_at),
    }


def state_json(present: Present, org: str = "", project: str = "") -> Json:
    """`AmygdalaState`; `halted` as it is for who works in that org and project."""
    worst = max(
        (signal.broadcast_severity for signal in present.signals), key=lambda severity: severity.rank, default=None
    )
    return {
        "seq": present.seq,
        "severity": worst,
        "halted": any(halt.concerns(org, project) for halt in present.halts),
        "signals": [signal_json(each) for each in present.signals],
        "halts": [halt_json(each) for each in present.halts],
        "more": present.more,
    }
