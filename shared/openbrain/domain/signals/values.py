"""Signals: what is wrong, how severe it is, and its state. Frozen values and the table of transitions.

Times are microseconds. The identity of a signal within a workspace, org and project is its source plus its `dedup_key`,
or without one the hash of its text. While a signal is open, raises of the same identity are merged into it; after it
has ended, the next raise makes a new one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from openbrain.domain.memory import MICROSECONDS


class Severity(StrEnum):
    """The severity, lowest first. Compare `rank`."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    NUCLEAR = "nuclear"

    @property
    def rank(self) -> int:
        """0 for info to 3 for nuclear."""
        return _RANKS[self]

    @property
    def grave(self) -> bool:
        """True for critical and nuclear: only a person, or the ttl of the raise, ends them."""
        return self.rank >= Severity.CRITICAL.rank

    @property
    def below(self) -> "Severity | None":
        """One step down; None below the lowest."""
        return None if self is Severity.INFO else SEVERITIES[self.rank - 1]


SEVERITIES: tuple[Severity, ...] = tuple(Severity)
_RANKS: Mapping[Severity, int] = {severity: rank for rank, severity in enumerate(Severity)}


def stronger(one: Severity, other: Severity) -> Severity:
    """The one with the higher rank."""
    return one if one.rank >= other.rank else other


class SignalState(StrEnum):
    """The state of a signal."""

    ACTIVE = "active"
    ESCALATED = "escalated"
    """Grave, and not acknowledged within the `escalate_s` of the settings."""
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    TOMBSTONED = "tombstoned"
    """Ended so long ago that it is no longer reported; the row stays for the audit."""

    @property
    def open(self) -> bool:
        """True if it has not ended."""
        return self in OPEN_STATES


class Step(StrEnum):
    """A change of a signal; names its audit lines and the `change` of its broadcasts."""

    RAISED = "raised"
    """Raised for the first time, or again at the same severity."""
    WORSENED = "worsened"
    """Raised again at a higher severity: earlier acknowledgements do not cover it."""
    ACKNOWLEDGED = "acknowledged"
    ESCALATED = "escalated"
    LOWERED = "lowered"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    TOMBSTONED = "tombstoned"
    HALTED = "halted"
    """The signal's halt was opened or widened."""
    RESUMED = "resumed"
    HALT_EXPIRED = "halt_expired"


_A, _E, _K = SignalState.ACTIVE, SignalState.ESCALATED, SignalState.ACKNOWLEDGED
_R, _X, _T = SignalState.RESOLVED, SignalState.EXPIRED, SignalState.TOMBSTONED

OPEN_STATES = frozenset({_A, _E, _K})
UNHEARD_STATES = frozenset({_A, _E})
"""Open and not acknowledged."""

TRANSITIONS: Mapping[tuple[SignalState, Step], SignalState] = {
    (_A, Step.RAISED): _A,
    (_A, Step.WORSENED): _A,
    (_A, Step.ACKNOWLEDGED): _K,
    (_A, Step.ESCALATED): _E,
    (_A, Step.LOWERED): _A,
    (_A, Step.RESOLVED): _R,
    (_A, Step.EXPIRED): _X,
    (_E, Step.RAISED): _E,
    (_E, Step.WORSENED): _E,
    (_E, Step.ACKNOWLEDGED): _K,
    (_E, Step.RESOLVED): _R,
    (_E, Step.EXPIRED): _X,
    (_K, Step.RAISED): _K,
    (_K, Step.WORSENED): _A,
    (_K, Step.LOWERED): _K,
    (_K, Step.RESOLVED): _R,
    (_K, Step.EXPIRED): _X,
    (_R, Step.TOMBSTONED): _T,
    (_X, Step.TOMBSTONED): _T,
}
"""The complete state machine: other transitions do not occur. Halts are opened and ended independently, in any
state."""


class HaltScope(StrEnum):
    """Which agents a halt stops, narrowest scope first."""

    PROJECT = "project"
    ORG = "org"
    WORKSPACE = "workspace"

    def concerns(self, of: tuple[str | None, str | None], org: str | None, project: str | None) -> bool:
        """True if an agent that works in that org and project is in this scope of the org and project `of`. '' for
        unknown, which counts as inside."""
        same_org = not org or org == of[0]
        same_project = not project or project == of[1]
        return self is HaltScope.WORKSPACE or (same_org and (self is HaltScope.ORG or same_project))


class HaltState(StrEnum):
    """The state of a halt."""

    OPEN = "open"
    RESUMED = "resumed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """One validated raise (`rules.checked`)."""

    workspace_id: str
    source: str
    severity: Severity
    title: str
    content: str
    actor: str
    """Who raised it, for the audit."""
    at: int
    """When it was raised, by our clock (the stream entry's id, or now), never the producer's."""
    dedup_key: str = ""
    ttl_s: int | None = None
    """Lifetime of the signal and its halt, counted from `at`."""
    halt: bool = False
    """A nuclear signal halts even without it."""
    halt_scope: HaltScope = HaltScope.WORKSPACE
    org: str = ""
    project: str = ""
    key: str = ""
    """Recognises a repeated raise within a workspace; '' for none."""
    held_until: int = 0
    """Quiet does not end the signal before this time, because its cause is known to last, such as a mark in a page.
    Repeating it with the same key extends the time."""
    traceparent: str | None = None

    @property
    def halts(self) -> bool:
        """True if it opens a halt."""
        return self.halt or self.severity is Severity.NUCLEAR

    @property
    def expires_at(self) -> int | None:
        """None for never."""
        return None if self.ttl_s is None else self.at + self.ttl_s * MICROSECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One row. Absent strings are '', absent times None."""

    id: str
    workspace_id: str
    identity: str
    source: str
    title: str
    content: str
    content_hash: str
    severity: Severity
    """The highest severity it was raised with."""
    broadcast_severity: Severity
    """The severity broadcast to agents: falls after quiet, rises with the next raise."""
    state: SignalState
    org: str = ""
    project: str = ""
    dedup_key: str = ""
    count: int = 1
    """Number of raises so far."""
    storm: bool = False
    """True if it represents many signals of one source, which came too fast to broadcast one by one."""
    first_raised_at: int
    last_raised_at: int
    text_at: int
    """The time of the raise whose text is shown: the latest of the strongest."""
    quiet_since: int
    held_until: int = 0
    """Quiet lowers the broadcast severity, but does not resolve the signal before this time."""
    told_at: int = 0
    """The time of its last broadcast."""
    expires_at: int | None = None
    acknowledged_at: int | None = None
    acknowledged_by: str = ""
    ended_at: int | None = None
    ended_by: str = ""
    note: str = ""
    """Why it was resolved."""
    seq: int = 0
    """The number of its last broadcast."""
    worsened_seq: int = 0
    """The number of the last broadcast of a stronger raise. Acknowledging an earlier one does not cover it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """Everyone in its scope stops until it is resumed or its ttl passes. At most one per signal."""

    id: str
    workspace_id: str
    signal_id: str
    scope: HaltScope
    org: str = ""
    project: str = ""
    state: HaltState = HaltState.OPEN
    title: str = ""
    raised_by: str = ""
    raised_at: int
    expires_at: int | None = None
    ended_at: int | None = None
    ended_by: str = ""
    note: str = ""
    seq: int = 0
    """The number of its last broadcast."""

    def concerns(self, org: str, project: str) -> bool:
        """True if an agent that works there is in its scope. '' for unknown, which counts as inside."""
        return self.scope.concerns((self.org, self.project), org, project)


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastRow:
    """One event of `amygdala.broadcast.<workspace>`, as published or to be published; used to fill gaps."""

    workspace_id: str
    seq: int
    signal_id: str
    org: str
    everyone: bool
    """True if it is about a halt of the whole workspace. Readers of other orgs get it too, without its subject
    (`broadcast_events.veiled`)."""
    body: bytes
    """The encoded event."""
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """The state that a late joiner reads first, followed by the broadcasts after `seq`. It may include some of
    those."""

    workspace_id: str
    seq: int
    signals: tuple[Signal, ...]
    """Open signals, highest severity first, then latest."""
    halts: tuple[Halt, ...]
    """Open halts, also of signals that have ended."""
    more: bool = False
    """True if there are more open signals than the limit: less severe, or equally severe and older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """A listening agent."""

    workspace_id: str
    agent_id: str
    cursor: int = 0
    """The seq up to which it has processed everything."""
    via: str = ""
    """redis, sse, poll."""
    org: str = ""
    project: str = ""
    seen_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """An agent's first acknowledgement of a signal or a halt."""

    agent_id: str
    at: int


def missing(halt: Halt, subscribers: Iterable[Subscriber], acks: Iterable[Acknowledgement]) -> tuple[str, ...]:
    """Listening agents in the halt's scope that have not acknowledged it, by name."""
    inside = {listener.agent_id for listener in subscribers if halt.concerns(listener.org, listener.project)}
    return tuple(sorted(inside - {ack.agent_id for ack in acks}))
