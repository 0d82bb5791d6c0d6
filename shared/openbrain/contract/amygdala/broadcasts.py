"""The state, the stream of broadcasts, and its subscribers."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from openbrain.contract.amygdala.signals import HaltAnswer, SignalAnswer, Within
from openbrain.contract.base import Answer, PageSize, QueryString, StreamSeconds
from openbrain.domain import limits
from openbrain.domain.events.data import Seq
from openbrain.domain.events.submission import Agent, Org, Project
from openbrain.domain.signals.values import Severity


class Via(StrEnum):
    """The way in which an agent listens."""

    REDIS = "redis"
    SSE = "sse"
    POLL = "poll"


class SubscribersQuery(QueryString):
    """The filters of a list of recent subscribers."""

    within_s: Within | None = None
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[Agent | None, Field(description="The next_cursor of an answer: list what follows it.")] = None


class PlaceQuery(QueryString):
    """The place where the listener works: a halt of another org or project does not concern it."""

    org: Org | None = None
    project: Project | None = None


class StateQuery(PlaceQuery):
    """The agent that asks, and whether it listens."""

    cursor: Annotated[
        Seq | None,
        Field(description="Up to where the asking agent has handled everything: it counts as heard of; null: a look."),
    ] = None
    via: Annotated[Via, Field(description="How it hears what comes.")] = Via.POLL


class StreamQuery(PlaceQuery):
    """From where, and for how long."""

    after: Annotated[
        Seq | None, Field(description="The last number that was heard; the header Last-Event-ID says the same.")
    ] = None
    seconds: StreamSeconds = None


class BroadcastsQuery(PlaceQuery):
    """From where, and how long to wait."""

    after: Annotated[Seq, Field(description="Tell what stands behind this number.")] = 0
    limit: PageSize = limits.LIST_LIMIT
    wait: Annotated[
        int,
        Field(ge=0, le=limits.WAIT_SECONDS, description="Answer when there is something, or after this many seconds."),
    ] = 0


class AmygdalaState(Answer):
    """The open alarms and the halts in force."""

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
    """The broadcasts after a number, in order."""

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
