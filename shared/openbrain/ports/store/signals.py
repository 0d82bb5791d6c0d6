"""Signals, halts, broadcasts and subscribers as stored in the database.

Every change of a signal or a halt is one transaction: the row, an audit line, and a broadcast with the workspace's next
`seq`, which is stored as bytes (to fill gaps later) and put into the outbox. `seq` is assigned under the workspace's
row lock, so it has no gaps and follows commit order. A viewer limited to orgs sees only the signals of those orgs;
others are `NotFound`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import NeverRetry
from openbrain.domain.signals.values import (
    Acknowledgement,
    BroadcastRow,
    Halt,
    HaltState,
    Present,
    Raise,
    Severity,
    Signal,
    SignalState,
    Step,
    Subscriber,
)


class RaiseStatus(StrEnum):
    """The outcome of a raise."""

    CREATED = "created"
    MERGED = "merged"
    """Counted on the open signal of the same identity. Broadcast if it made that signal stronger or wider, or if the
    last broadcast was long ago."""
    GROUPED = "grouped"
    """The source raises too many signals: counted on the one signal that represents them all."""
    DUPLICATE = "duplicate"
    """A repeated raise (`Raise.key`): nothing happened, except that it may be held longer (`Raise.held_until`)."""
    EXPIRED = "expired"
    """The raise's ttl had passed before it arrived: nothing happened."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RaiseOutcome:
    """The signal after the whole call, its halt if it has one, or the error. No signal if refused or expired, or for a
    duplicate of a signal that is gone."""

    status: RaiseStatus
    signal: Signal | None = None
    halt: Halt | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalChange:
    """An acknowledgement or resolution of a signal by a person or an agent."""

    workspace_id: str
    step: Step
    """`Step.ACKNOWLEDGED` or `Step.RESOLVED`."""
    viewer: Viewer
    actor: str
    """The agent, or the key's name if it has none: who acknowledges."""
    signal_id: str = ""
    seq: int | None = None
    """The seq of the received broadcast; identifies the signal if `signal_id` is ''. Acknowledging a broadcast does not
    acknowledge a stronger one sent since."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFilter:
    """Filters for signals; empty means any."""

    states: Collection[SignalState] = ()
    min_severity: Severity | None = None
    source: str = ""
    org: str = ""
    project: str = ""
    or_of_none: bool = False
    """With an org or a project also signals without one: they concern every org, every project."""
    since: int | None = None
    """First raised at or after this time, microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalEntry:
    """One audit line of a signal or its halt, without contents."""

    signal_id: str
    halt_id: str
    seq: int
    step: Step
    actor: str
    at: int
    state: str
    severity: str
    broadcast_severity: str
    count: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """Numbers of rows that changed because of time."""

    escalated: int = 0
    lowered: int = 0
    resolved: int = 0
    expired: int = 0
    tombstoned: int = 0
    halts_expired: int = 0

    @property
    def total(self) -> int:
        """All changes. If this equals the limit, more may be due."""
        return self.escalated + self.lowered + self.resolved + self.expired + self.tombstoned + self.halts_expired


class Signals(Protocol):
    async def raise_signals(self, raises: Sequence[Raise]) -> Sequence[RaiseOutcome]:
        """Apply each raise in order, in one transaction; a bad one does not affect the others. A signal raised several
        times in one call is broadcast once. A raise is refused for an unknown workspace (`NotFound`) or a key that was
        used with other content (`Conflict`)."""

    async def change_signal(self, change: SignalChange) -> Signal:
        """Acknowledge or resolve a signal, recording who did. Repeated: the same result. Acknowledgements by further
        agents, or of a signal that has ended, are recorded without a broadcast. Raise `NotFound` if the viewer does not
        see the signal or no signal has that seq, `Conflict` if the signal to resolve was raised stronger since that
        seq. This never ends a halt."""

    async def signal(self, viewer: Viewer, signal_id: str) -> Signal | None:
        """Return a signal in any state."""

    async def signals(
        self, viewer: Viewer, asked: SignalFilter, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Signal]:
        """List signals, newest first. `before`: first_raised_at and id of the last signal of the previous page."""

    async def signal_history(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[SignalEntry]:
        """List audit lines, oldest first. Raise `NotFound` if the viewer does not see the signal."""

    async def signal_acks(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[Acknowledgement]:
        """List acknowledgements, oldest first. Raise `NotFound` if the viewer does not see the signal."""

    async def present(self, viewer: Viewer, limit: int = 1000) -> Present:
        """Return open signals and halts, and the seq to continue from. A halt of the whole workspace is shown to every
        viewer, without its title if the viewer does not see its org."""

    async def unacknowledged(self, limit: int) -> Mapping[str, int]:
        """Count open critical and nuclear signals that nobody acknowledged, by workspace: up to `limit` workspaces with
        the highest counts."""

    async def sweep_due(self, limit: int, now: int) -> Swept:
        """Apply what is due by `now` (the database's clock: `Store.time`): escalation, lowering and resolution after
        quiet, ttl of signals and halts, tombstones. Each row advances one step per call; concurrent sweepers apply a
        step once."""

    async def purge_signals(self, limit: int, *, broadcasts_before: int, ended_before: int, now: int) -> int:
        """Remove expired keys, broadcasts from before `broadcasts_before`, and tombstoned signals that ended before
        `ended_before` with their audit; up to `limit` rows of each kind. Return how many."""


class Halts(Protocol):
    async def halt(self, viewer: Viewer, halt_id: str) -> Halt | None:
        """Return a halt in any state; None if the viewer does not see its org. A halt of the whole workspace is
        returned without its title instead."""

    async def halts(
        self,
        viewer: Viewer,
        limit: int,
        *,
        states: Collection[HaltState] = (),
        before: tuple[int, str] | None = None,
    ) -> Sequence[Halt]:
        """List halts, newest first. `before`: raised_at and id of the last halt of the previous page."""

    async def ack_halt(self, viewer: Viewer, halt_id: str, agent_ids: Sequence[str]) -> Halt:
        """Record that agents have stopped; the first time of each is kept. Not broadcast. Raise `NotFound` if not
        visible."""

    async def halt_acks(self, viewer: Viewer, halt_id: str, limit: int) -> Sequence[Acknowledgement]:
        """List acknowledgements, oldest first. Raise `NotFound` if not visible. For missing agents see
        `signals.missing`."""

    async def resume_halt(self, viewer: Viewer, halt_id: str, actor: str, note: str = "") -> Halt:
        """End the halt; idempotent. Raise `NotFound` if not visible, `Conflict` if it has expired."""


class StaleSequence(NeverRetry):
    """The stream only accepts rising numbers and has reached this one: either it holds this event already, or it is
    ahead of a database that was restored to an earlier time."""


class Broadcasts(Protocol):
    async def last_seqs(self, after: str, limit: int) -> Sequence[tuple[str, int]]:
        """Return (workspace, seq of its newest broadcast) of workspaces that have broadcasts, in id order, behind
        `after`."""

    async def last_seq(self, workspace_id: str) -> int:
        """Return the seq of the workspace's newest broadcast; 0 if it has none or is unknown."""

    async def broadcasts_after(self, workspace_id: str, seq: int, limit: int) -> Sequence[BroadcastRow]:
        """Return broadcasts in order, of every org: the caller filters by `BroadcastRow.org` and `everyone`. Those past
        retention are gone: then the first is not seq + 1, and the caller needs the present state instead."""

    async def broadcast_floor(self, workspace_id: str, before: int) -> int:
        """Return the highest seq broadcast before `before`, where the stream may be trimmed; 0 for none."""

    async def renumber(self, workspace_id: str, since: int, above: int) -> int:
        """After the database was restored to an earlier time and the stream is ahead: repeat the broadcasts since
        `since`, in order, with new numbers above `above`. Return the new last seq."""

    async def record_presence(self, subscribers: Sequence[Subscriber]) -> None:
        """Record subscribers as present at `seen_at`. Cursors and times never decrease. One transaction for all."""

    async def subscribers(
        self, workspace_id: str, seen_since: int, limit: int, after: str = "", *, viewer: Viewer | None = None
    ) -> Sequence[Subscriber]:
        """List subscribers seen at or after `seen_since`, by agent id, behind `after`; with a viewer only those in orgs
        that it sees."""

    async def forget_subscribers(self, seen_before: int, limit: int) -> int:
        """Remove subscribers not seen since `seen_before`. Return how many."""
