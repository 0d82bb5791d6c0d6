"""Signals: what is wrong, how severe, and its state. Frozen values and the table of states.

Times are microseconds. A signal's identity is its source together with its `dedup_key`, or with the hash of what it
says where it has none, within a workspace, org and project. While one is open, raises of the same identity are the same
signal; when it has ended, the next raise is a new one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from openbrain.domain.memory import MICROSECONDS


class Severity(StrEnum):
    """The severity, the weakest first. Compare `rank`."""

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
        """Critical or nuclear: nothing but a person, or the ttl that it was raised with, clears it."""
        return self.rank >= Severity.CRITICAL.rank

    @property
    def below(self) -> "Severity | None":
        """One step down; None below the lowest."""
        return None if self is Severity.INFO else SEVERITIES[self.rank - 1]


SEVERITIES: tuple[Severity, ...] = tuple(Severity)
"""By rank."""
_RANKS: Mapping[Severity, int] = {severity: rank for rank, severity in enumerate(Severity)}


def stronger(one: Severity, other: Severity) -> Severity:
    return one if one.rank >= other.rank else other


class SignalState(StrEnum):
    """The state of a signal."""

    ACTIVE = "active"
    ESCALATED = "escalated"
    """Grave, and nobody has acknowledged it for a day."""
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    TOMBSTONED = "tombstoned"
    """Ended so long ago that nobody needs to hear of it; the row stays for the audit."""

    @property
    def open(self) -> bool:
        """Whether it still burns."""
        return self in OPEN_STATES


class Step(StrEnum):
    """A change of a signal. The name of a line of its audit, and of a broadcast's `change`."""

    RAISED = "raised"
    """For the first time, or again: more of the same."""
    WORSENED = "worsened"
    """Raised again, stronger than before: whoever acknowledged it did not know."""
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
"""Open, and nobody has acknowledged it."""

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
"""The state machine, whole: what is not here does not happen. Halts are opened and ended beside it, in any state."""


class HaltScope(StrEnum):
    """The agents that a halt stops, the narrowest scope first."""

    PROJECT = "project"
    ORG = "org"
    WORKSPACE = "workspace"


class HaltState(StrEnum):
    """The state of a halt."""

    OPEN = "open"
    RESUMED = "resumed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """One raise, checked (`rules.checked`)."""

    workspace_id: str
    source: str
    severity: Severity
    title: str
    content: str
    actor: str
    """The author, for the audit."""
    at: int
    """When, by a clock of ours: the stream entry's id, or now. Never the producer's."""
    dedup_key: str = ""
    ttl_s: int | None = None
    """Of the signal and of its halt, counted from `at`."""
    halt: bool = False
    """Also without it a nuclear one halts."""
    halt_scope: HaltScope = HaltScope.WORKSPACE
    org: str = ""
    project: str = ""
    key: str = ""
    """The key by which a repeated raise is recognized within a workspace; '' for none."""
    held_until: int = 0
    """Quiet does not end the signal before this time: what was raised is known to last, as a mark that stands in a
    page. Said again under the same key it is put off further."""
    traceparent: str | None = None

    @property
    def halts(self) -> bool:
        """Whether everyone stops."""
        return self.halt or self.severity is Severity.NUCLEAR

    @property
    def expires_at(self) -> int | None:
        """None for never."""
        return None if self.ttl_s is None else self.at + self.ttl_s * MICROSECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One row of the truth. Absent strings are '', absent times None."""

    id: str
    workspace_id: str
    identity: str
    source: str
    title: str
    content: str
    content_hash: str
    severity: Severity
    """The strongest that it was raised with."""
    broadcast_severity: Severity
    """The severity broadcast to agents: falls with quiet, and rises with the next raise."""
    state: SignalState
    org: str = ""
    project: str = ""
    dedup_key: str = ""
    count: int = 1
    """Raises so far."""
    storm: bool = False
    """Stands for many signals of one source, which came too fast to be told one by one."""
    first_raised_at: int
    last_raised_at: int
    text_at: int
    """The time of the raise whose text it shows: of the strongest the latest."""
    quiet_since: int
    held_until: int = 0
    """Quiet lowers what agents hear, and does not resolve the signal before this time."""
    told_at: int = 0
    """The time of its last broadcast."""
    expires_at: int | None = None
    acknowledged_at: int | None = None
    acknowledged_by: str = ""
    ended_at: int | None = None
    ended_by: str = ""
    note: str = ""
    """The reason for its resolution."""
    seq: int = 0
    """Of its last broadcast."""
    worsened_seq: int = 0
    """Of the broadcast that last told of a stronger raise: an acknowledgement of an earlier one does not cover it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """Everyone in its scope stops until it is resumed, or its ttl is over. One a signal, at most."""

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
    """Of its last broadcast."""

    def concerns(self, org: str, project: str) -> bool:
        """Whether an agent that works there is in its scope ('' for one that told nothing: it counts as inside)."""
        if self.scope is HaltScope.WORKSPACE:
            return True
        same_org = not org or org == self.org
        return same_org if self.scope is HaltScope.ORG else same_org and (not project or project == self.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastRow:
    """One event of `amygdala.broadcast.<workspace>`, as it was or will be published: what refills a gap."""

    workspace_id: str
    seq: int
    signal_id: str
    org: str
    everyone: bool
    """Whether it tells of a halt of the whole workspace: who sees only other orgs hears of it too, but not what it is
    about (`broadcast_events.veiled`)."""
    body: bytes
    """The finished event."""
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """The state that a late joiner reads first; then the broadcasts after `seq`. Some of those may be in it already."""

    workspace_id: str
    seq: int
    signals: tuple[Signal, ...]
    """The open ones, the strongest first, then the latest."""
    halts: tuple[Halt, ...]
    """The open ones, also of signals that have ended."""
    more: bool = False
    """Whether there are open signals beyond the limit: weaker ones, or of the same severity and older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """An agent that listens."""

    workspace_id: str
    agent_id: str
    cursor: int = 0
    """The seq up to which it has handled everything."""
    via: str = ""
    """redis, sse, poll."""
    org: str = ""
    project: str = ""
    seen_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """An agent's acknowledgement of a signal or a halt, and its first time."""

    agent_id: str
    at: int


def missing(halt: Halt, subscribers: Iterable[Subscriber], acks: Iterable[Acknowledgement]) -> tuple[str, ...]:
    """The agents in the halt's scope, of those that listen, that have not acknowledged it; by name."""
    inside = {listener.agent_id for listener in subscribers if halt.concerns(listener.org, listener.project)}
    return tuple(sorted(inside - {ack.agent_id for ack in acks}))
