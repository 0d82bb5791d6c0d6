"""Transitions of a signal caused by raises, people and time: pure functions of values, applied by the database.

The raises of one identity lead to the same signal in any order and with any repetition: the highest severity, the text
of the strongest raise (the latest among equals), the widest halt, the latest expiry. An acknowledgement covers what was
known then: a stronger raise makes the signal active again.
"""

from dataclasses import dataclass, replace

from openbrain.domain import limits
from openbrain.domain.errors import Conflict, Invalid
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.ids import content_hash, joined_hash, uuid7
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.signals.values import (
    TRANSITIONS,
    Halt,
    HaltScope,
    HaltState,
    Raise,
    Severity,
    Signal,
    SignalState,
    Step,
    stronger,
)

TIME = "time"
"""The actor of changes caused by time."""
_WIDTH = {scope: width for width, scope in enumerate(HaltScope)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalTimes:
    """Durations in microseconds, and how many signals a source may raise. The settings group `signals`."""

    quiet: int = 900 * MICROSECONDS
    """Time without a raise after which the broadcast severity falls by one step."""
    resolve: int = 900 * MICROSECONDS
    """Time without a raise at the lowest severity after which the signal is resolved."""
    escalate: int = DAY
    """Time since the first raise after which an unacknowledged grave signal escalates."""
    dedupe: int = 300 * MICROSECONDS
    """Time since the last broadcast during which equal raises are counted but not broadcast."""
    source_window: int = 60 * MICROSECONDS
    source_signals: int = 60
    """New signals of one source in that window, at this severity or higher, after which further ones are grouped into
    one."""
    tombstone: int = 14 * DAY
    """Time since its end after which a signal becomes a tombstone."""
    keys: int = 30 * DAY
    """Lifetime of a raise's key: longer than streams and dead letters keep the entry."""


def checked(
    data: SignalRaised, *, actor: str, at: int, key: str = "", workspace_id: str = "", traceparent: str | None = None
) -> Raise:
    """Validate a raise from an event or a request. `workspace_id`, if given, overrides the one in the data. `at` is by
    our clock. Raise `Invalid` for a halt scope without its org or project."""
    org, project = (data.org or "").strip(), (data.project or "").strip()
    scope = data.halt_scope or HaltScope.WORKSPACE
    if scope is not HaltScope.WORKSPACE and not org:
        raise Invalid("org", f"a halt of one {scope} needs its org")
    if scope is HaltScope.PROJECT and not project:
        raise Invalid("project", "a halt of one project needs the project")
    source, title = data.source.strip(), data.title.strip()
    for field, value in (("source", source), ("title", title)):
        if not value:
            raise Invalid(field, "must not be blank")
    return Raise(
        workspace_id=workspace_id or data.workspace_id,
        source=source,
        severity=data.severity,
        title=title,
        content=data.content.strip(),
        actor=actor[: limits.AGENT_CHARS],
        at=at,
        dedup_key=data.dedup_key or "",
        ttl_s=data.ttl_s,
        halt=data.halt,
        halt_scope=scope,
        org=org,
        project=project,
        key=key,
        traceparent=traceparent,
    )


def text_hash(content: str, title: str = "") -> str:
    """The hash of a signal's content, or of its title if it has none."""
    return content_hash(content.strip() or title.strip())


def identity(given: Raise) -> str:
    """The identity of a signal within its workspace. It includes the org, so orgs never merge signals of each other."""
    what = ("key", given.dedup_key) if given.dedup_key else ("says", text_hash(given.content, given.title))
    return joined_hash(*what, given.source, given.org, given.project)


def storm_identity(given: Raise) -> str:
    """The identity of the one signal that represents all that its source raises too fast."""
    return joined_hash("storm", "", given.source, given.org, given.project)


def opened(given: Raise, now: int, *, storm: bool = False) -> Signal:
    """A new signal that was not broadcast yet."""
    return Signal(
        id=uuid7(now),
        workspace_id=given.workspace_id,
        identity=storm_identity(given) if storm else identity(given),
        source=given.source,
        title=given.title,
        content=given.content,
        content_hash=text_hash(given.content, given.title),
        severity=given.severity,
        broadcast_severity=given.severity,
        state=SignalState.ACTIVE,
        org=given.org,
        project=given.project,
        dedup_key="" if storm else given.dedup_key,
        storm=storm,
        first_raised_at=given.at,
        last_raised_at=given.at,
        text_at=given.at,
        quiet_since=now,
        held_until=given.held_until,
        expires_at=given.expires_at,
    )


def merged(signal: Signal, given: Raise, now: int) -> tuple[Step, Signal]:
    """An open signal after another raise."""
    step = Step.WORSENED if given.severity.rank > signal.severity.rank else Step.RAISED
    changed = replace(
        signal,
        state=TRANSITIONS[signal.state, step],
        severity=stronger(signal.severity, given.severity),
        broadcast_severity=stronger(signal.broadcast_severity, given.severity),
        count=signal.count + 1,
        first_raised_at=min(signal.first_raised_at, given.at),
        last_raised_at=max(signal.last_raised_at, given.at),
        quiet_since=now,
        held_until=max(signal.held_until, given.held_until),
        expires_at=_later(signal.expires_at, given.expires_at),
    )
    shown = (signal.severity.rank, signal.text_at, signal.title, signal.content)
    if (given.severity.rank, given.at, given.title, given.content) > shown:
        hashed = text_hash(given.content, given.title)
        changed = replace(changed, title=given.title, content=given.content, content_hash=hashed, text_at=given.at)
    return step, changed


def held(signal: Signal, given: Raise, now: int) -> Signal:
    """The signal of a repeated raise, held for longer. Unchanged if it has ended, or if more than half of the hold time
    remains: a page that states the same for days costs few writes."""
    put_off = (signal.held_until - now) * 2 < given.held_until - now
    return replace(signal, held_until=given.held_until) if signal.state.open and put_off else signal


def must_tell(before: Signal, after: Signal, now: int, times: SignalTimes) -> bool:
    """True if a merged raise must be broadcast: it is worse than the last state sent, or that was sent long ago."""
    worse = after.broadcast_severity.rank > before.broadcast_severity.rank or after.severity is not before.severity
    return worse or now - before.told_at >= times.dedupe


def halted(existing: Halt | None, signal: Signal, given: Raise, now: int, *, worsened: bool = False) -> Halt | None:
    """The halt after a halting raise: a new one, the existing one made wider or longer, or None if nothing changes. A
    halt that somebody resumed stays ended, because they knew of this signal, unless it is more severe now (`worsened`).
    One that only time ended begins again."""
    if existing is None:
        return Halt(
            id=uuid7(now),
            workspace_id=signal.workspace_id,
            signal_id=signal.id,
            scope=given.halt_scope,
            org=signal.org,
            project=signal.project,
            title=given.title,
            raised_by=given.actor,
            raised_at=given.at,
            expires_at=given.expires_at,
        )
    if existing.state is HaltState.RESUMED and not worsened:
        return None
    if existing.state is not HaltState.OPEN:
        again = halted(None, signal, given, now)
        return None if again is None else replace(again, id=existing.id)
    changed = replace(
        existing,
        scope=max(existing.scope, given.halt_scope, key=_WIDTH.__getitem__),
        expires_at=_later(existing.expires_at, given.expires_at),
    )
    return None if changed == existing else changed


def acknowledged(signal: Signal, actor: str, now: int) -> Signal:
    """The signal after an acknowledgement; unchanged if it has ended or was acknowledged before."""
    if (signal.state, Step.ACKNOWLEDGED) not in TRANSITIONS:
        return signal
    state = TRANSITIONS[signal.state, Step.ACKNOWLEDGED]
    return replace(signal, state=state, acknowledged_at=now, acknowledged_by=actor, quiet_since=now)


def resolved(signal: Signal, actor: str, note: str, now: int) -> Signal:
    """The signal after its resolution; unchanged if it had ended."""
    return _ended(signal, Step.RESOLVED, actor, now, note) if signal.state.open else signal


def expired(signal: Signal, now: int) -> Signal | None:
    """The ended signal if its ttl has passed; else None."""
    if signal.expires_at is None or signal.expires_at > now:
        return None
    return _ended(signal, Step.EXPIRED, TIME, now)


def swept(signal: Signal, now: int, times: SignalTimes) -> tuple[Step, Signal] | None:
    """The first change that time causes by `now`; None if none is due."""
    due, step = _next(signal, times)
    if due is None or due > now:
        return None
    if step is Step.EXPIRED or step is Step.RESOLVED:
        return step, _ended(signal, step, TIME, now)
    moved = replace(signal, state=TRANSITIONS[signal.state, step])
    if step is Step.LOWERED:
        below = signal.broadcast_severity.below or Severity.INFO
        moved = replace(moved, broadcast_severity=below, quiet_since=now)
    return step, moved


def due_at(signal: Signal, times: SignalTimes) -> int | None:
    """When `swept` will next change the signal; None for never."""
    return _next(signal, times)[0]


def _next(signal: Signal, times: SignalTimes) -> tuple[int | None, Step]:
    if not signal.state.open:
        tombstone = None if signal.ended_at is None else signal.ended_at + times.tombstone
        return (None if signal.state is SignalState.TOMBSTONED else tombstone), Step.TOMBSTONED
    coming: list[tuple[int, Step]] = []
    if signal.expires_at is not None:
        coming.append((signal.expires_at, Step.EXPIRED))
    if signal.severity.grave and signal.state is SignalState.ACTIVE:
        coming.append((signal.first_raised_at + times.escalate, Step.ESCALATED))
    if not signal.severity.grave or signal.state is SignalState.ACKNOWLEDGED:
        lowest = signal.broadcast_severity is Severity.INFO
        if lowest:
            coming.append((max(signal.quiet_since + times.resolve, signal.held_until), Step.RESOLVED))
        else:
            coming.append((signal.quiet_since + times.quiet, Step.LOWERED))
    return min(coming, default=(None, Step.EXPIRED), key=lambda item: item[0] or 0)


def _ended(signal: Signal, step: Step, actor: str, now: int, note: str = "") -> Signal:
    state = TRANSITIONS[signal.state, step]
    return replace(signal, state=state, ended_at=now, ended_by=actor, note=note[: limits.REASON_CHARS])


def _later(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def resumed(halt: Halt, actor: str, note: str, now: int) -> Halt:
    """The halt after being resumed; unchanged if it was resumed before. Raise `Conflict` if it has expired."""
    if halt.state is HaltState.EXPIRED:
        raise Conflict("this halt has expired: work has resumed already")
    if halt.state is HaltState.RESUMED:
        return halt
    return _halt_ended(halt, HaltState.RESUMED, actor, now, note)


def halt_expired(halt: Halt, now: int) -> Halt:
    """End a halt whose ttl has passed."""
    return _halt_ended(halt, HaltState.EXPIRED, TIME, now)


def _halt_ended(halt: Halt, state: HaltState, actor: str, now: int, note: str = "") -> Halt:
    return replace(halt, state=state, ended_at=now, ended_by=actor, note=note[: limits.REASON_CHARS])
