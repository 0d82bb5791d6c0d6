"""Signals, halts and who listens, as rows of the truth.

Every change of a signal or a halt is one transaction: the row, a line of the audit, and a broadcast with the next `seq`
of its workspace, kept as bytes (what refills a gap) and put into the outbox. `seq` is given under the workspace's row
lock, so it has no gaps and its order is the order of the commits. A viewer limited to orgs sees the signals of those
orgs alone; what he does not see is `NotFound`.
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
    """Counted on the open signal of the same identity; broadcast if it made that one stronger or wider, or the last
    broadcast is long ago."""
    GROUPED = "grouped"
    """The source raises too many: counted on the one signal that stands for all of them."""
    DUPLICATE = "duplicate"
    """A repeated raise (`Raise.key`): nothing happened, but for its being held longer
    (`Raise.held_until`)."""
    EXPIRED = "expired"
    """A raise whose ttl was over before it arrived: nothing happened."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RaiseOutcome:
    """The signal as it stands after the whole call (None where refused or expired, or for a duplicate of a signal
    that is gone), its halt where it has one, or the error."""

    status: RaiseStatus
    signal: Signal | None = None
    halt: Halt | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalChange:
    """A person or an agent says something of a signal."""

    workspace_id: str
    step: Step
    """`Step.ACKNOWLEDGED` or `Step.RESOLVED`."""
    viewer: Viewer
    actor: str
    """The agent, or the key's name where it has none: whose acknowledgement it is."""
    signal_id: str = ""
    seq: int | None = None
    """The broadcast heard: names the signal where `signal_id` is ''. An acknowledgement of a broadcast counts for
    nothing stronger that was broadcast since."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFilter:
    """The filters of signals; empty means any."""

    states: Collection[SignalState] = ()
    min_severity: Severity | None = None
    source: str = ""
    org: str = ""
    project: str = ""
    since: int | None = None
    """First raised at or after, microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalEntry:
    """One line of the audit of a signal or its halt. No contents."""

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
    """Changes by time, as numbers of rows."""

    escalated: int = 0
    lowered: int = 0
    resolved: int = 0
    expired: int = 0
    tombstoned: int = 0
    halts_expired: int = 0

    @property
    def total(self) -> int:
        """All of it; as much as the limit: there may be more."""
        return self.escalated + self.lowered + self.resolved + self.expired + self.tombstoned + self.halts_expired


class Signals(Protocol):
    async def raise_signals(self, raises: Sequence[Raise]) -> Sequence[RaiseOutcome]:
        """Each in order, in one transaction; one bad item never fails its neighbours. A signal raised many times in one
        call is broadcast once. Refused are: an unknown workspace (`NotFound`), a key that came with something else
        (`Conflict`)."""

    async def change_signal(self, change: SignalChange) -> Signal:
        """Acknowledge or resolve, and say who; again: the same answer, and another agent's acknowledgement is noted
        without a broadcast, as is that of one that has ended. `NotFound` where the viewer does not see it, or no signal
        has that seq; `Conflict` where what is to be resolved was raised stronger since that seq. None of it ends a
        halt."""

    async def signal(self, viewer: Viewer, signal_id: str) -> Signal | None:
        """In any state."""

    async def signals(
        self, viewer: Viewer, asked: SignalFilter, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Signal]:
        """Newest first; `before` (first_raised_at and id of one) lists those that follow it."""

    async def signal_history(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[SignalEntry]:
        """Oldest first; `NotFound` as above."""

    async def signal_acks(self, viewer: Viewer, signal_id: str, limit: int) -> Sequence[Acknowledgement]:
        """Oldest first; `NotFound` as above."""

    async def present(self, viewer: Viewer, limit: int = 1000) -> Present:
        """Open signals and halts, with the seq to go on from. A halt of the whole workspace is shown to
        every viewer, without its title where he does not see its org."""

    async def unacknowledged(self, limit: int) -> Mapping[str, int]:
        """Open critical and nuclear signals that nobody has acknowledged, as numbers by workspace: up to `limit`
        workspaces that have any, those with most of them."""

    async def sweep_due(self, limit: int, now: int) -> Swept:
        """Carry out what is due by `now` (the database's clock: `Store.time`): escalation, lowering and resolution by
        quiet, the ttl of signals and halts, tombstones. Each row moves by one step a call; two sweepers at once do it
        once."""

    async def purge_signals(self, limit: int, *, broadcasts_before: int, ended_before: int, now: int) -> int:
        """Remove keys past their time, broadcasts from before that time, and tombstoned signals that ended before the
        other, with their audit; up to `limit` rows of each kind. Returns how many."""


class Halts(Protocol):
    async def halt(self, viewer: Viewer, halt_id: str) -> Halt | None:
        """In any state; None where it is of an org that the viewer does not see, unless it halts the whole
        workspace: then without its title."""

    async def halts(
        self,
        viewer: Viewer,
        limit: int,
        *,
        states: Collection[HaltState] = (),
        before: tuple[int, str] | None = None,
    ) -> Sequence[Halt]:
        """Newest first; `before` (raised_at and id of one) lists those that follow it."""

    async def ack_halt(self, viewer: Viewer, halt_id: str, agent_ids: Sequence[str]) -> Halt:
        """Note that agents have stopped; again: the first time stays. Not broadcast. `NotFound` where not seen."""

    async def halt_acks(self, viewer: Viewer, halt_id: str, limit: int) -> Sequence[Acknowledgement]:
        """Oldest first. `NotFound` where not seen. Who is lacking: `signals.missing`."""

    async def resume_halt(self, viewer: Viewer, halt_id: str, actor: str, note: str = "") -> Halt:
        """Everyone goes on; again: the same. `NotFound` where not seen; `Conflict` for one that has expired."""


class StaleSequence(NeverRetry):
    """A stream takes rising numbers only, and has reached this one: it holds the event, or it knows a later time of
    the truth than the truth does."""


class Broadcasts(Protocol):
    async def last_seqs(self, after: str, limit: int) -> Sequence[tuple[str, int]]:
        """(workspace, seq of its newest broadcast) of those that have any, in order of their ids, behind `after`."""

    async def last_seq(self, workspace_id: str) -> int:
        """Of the workspace's newest broadcast; 0 before the first, and for an unknown workspace."""

    async def broadcasts_after(self, workspace_id: str, seq: int, limit: int) -> Sequence[BroadcastRow]:
        """In order, of every org: the caller filters by `BroadcastRow.org` and `everyone`. Those older than the
        retention are gone: then the first is not seq + 1, and the present state stands for them."""

    async def broadcast_floor(self, workspace_id: str, before: int) -> int:
        """The highest seq broadcast before that time; 0 for none. Where the stream is to be trimmed at."""

    async def renumber(self, workspace_id: str, since: int, above: int) -> int:
        """The truth was put back to an earlier hour, and the stream is ahead of it: the broadcasts from `since` on are
        told again, in order, as new ones above `above`. Returns the new last seq."""

    async def record_presence(self, subscribers: Sequence[Subscriber]) -> None:
        """Note that subscribers are present, by `seen_at`; a cursor and a time only rise. Many cost one transaction."""

    async def subscribers(
        self, workspace_id: str, seen_since: int, limit: int, after: str = "", *, viewer: Viewer | None = None
    ) -> Sequence[Subscriber]:
        """Listeners seen at or after, by agent id, behind `after`; with a viewer the ones in orgs that he sees."""

    async def forget_subscribers(self, seen_before: int, limit: int) -> int:
        """Remove those not seen for so long; returns how many."""
