"""Answers about signals, halts and who listens."""

from datetime import datetime
from typing import Any

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.domain.signals.values import HaltScope, HaltState, Severity, SignalState
from openbrain.ports.signals import RaiseStatus


class SignalAnswer(Answer):
    """One signal."""

    id: str
    source: str
    title: str
    content: str
    severity: Severity = Field(description="The strongest that it was raised with.")
    broadcast_severity: Severity = Field(description="What agents hear: it falls with quiet.")
    state: SignalState
    org: str | None
    project: str | None
    dedup_key: str | None
    count: int = Field(description="Raises so far.")
    storm: bool = Field(description="Whether it stands for many signals of one source, which came too fast.")
    first_raised_at: datetime
    last_raised_at: datetime
    expires_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    ended_at: datetime | None
    ended_by: str | None
    note: str | None = Field(description="Why it was resolved.")
    seq: int = Field(description="Of its last broadcast.")


class Acknowledged(Answer):
    """Who has seen a signal, or stopped for a halt, and when first."""

    agent_id: str
    at: datetime


class SignalLine(Answer):
    """One line of the audit of a signal and its halt."""

    seq: int
    step: str
    actor: str
    at: datetime
    state: str
    severity: str
    broadcast_severity: str
    count: int
    note: str | None
    halt_id: str | None


class SignalDetail(SignalAnswer):
    """One signal, who has seen it, and what happened to it."""

    acks: tuple[Acknowledged, ...]
    history: tuple[SignalLine, ...]


class HaltAnswer(Answer):
    """One halt: everyone in its scope stops until it ends."""

    id: str
    signal_id: str
    scope: HaltScope
    org: str | None
    project: str | None
    state: HaltState
    title: str
    raised_by: str
    raised_at: datetime
    expires_at: datetime | None
    ended_at: datetime | None
    ended_by: str | None
    note: str | None
    seq: int = Field(description="Of the broadcast that last told of it.")


class HaltStatus(HaltAnswer):
    """One halt, who has stopped, and who has not."""

    acks: tuple[Acknowledged, ...]
    missing: tuple[str, ...] = Field(
        description="Agents in its scope that were heard of within `within_s` and have not acknowledged it."
    )
    listening: int = Field(description="Agents in its scope that were heard of within `within_s`.")
    within_s: int


class SignalRaised(Answer):
    """What became of a raise."""

    status: RaiseStatus
    signal: SignalAnswer | None = Field(description="As it stands now.")
    halt: HaltAnswer | None = Field(description="The halt that it opened, or widened.")


class SignalList(Answer):
    """Newest first."""

    signals: tuple[SignalAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class HaltList(Answer):
    """Newest first."""

    halts: tuple[HaltAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class AmygdalaState(Answer):
    """What burns now, and who must stop."""

    seq: int = Field(description="The broadcasts behind this number are news.")
    severity: Severity | None = Field(description="The worst that is broadcast; null where nothing burns.")
    halted: bool
    signals: tuple[SignalAnswer, ...] = Field(description="Those that are open, the strongest first.")
    halts: tuple[HaltAnswer, ...] = Field(description="Those that are open.")
    more: bool = Field(description="Whether more signals are open than are told here: weaker or older ones.")


class BroadcastAnswer(Answer):
    """One broadcast, as it stands in the stream."""

    seq: int
    event: dict[str, Any] = Field(description="The CloudEvent.")


class BroadcastList(Answer):
    """What was broadcast behind a number, in order."""

    broadcasts: tuple[BroadcastAnswer, ...]
    count: int
    begins: int = Field(
        description="What stands between `after` and this number is kept no longer: the state stands for it."
    )
    through: int = Field(description="All up to here is told: give it as `after` to go on.")
    last: int = Field(description="The newest number that there is.")


class Skipped(Answer):
    """Numbers, both included, that a stream does not tell: not for this key, or kept no longer."""

    first: int
    last: int


class SubscriberAnswer(Answer):
    """An agent that listens."""

    agent_id: str
    cursor: int = Field(description="Up to where it has handled everything.")
    via: str | None
    org: str | None
    project: str | None
    seen_at: datetime


class SubscriberList(Answer):
    """By agent."""

    subscribers: tuple[SubscriberAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")
