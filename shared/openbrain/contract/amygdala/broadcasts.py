"""The state of signals, the stream of broadcasts, and its subscribers."""

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
    """How an agent receives broadcasts."""

    REDIS = "redis"
    SSE = "sse"
    POLL = "poll"


class SubscribersQuery(QueryString):
    """The filters of a list of recent subscribers."""

    within_s: Within | None = None
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[Agent | None, Field(description="The `next_cursor` of the previous page.")] = None


class PlaceQuery(QueryString):
    """Where the listener works: halts of other orgs and projects are left out."""

    org: Org | None = None
    project: Project | None = None


class StateQuery(PlaceQuery):
    """Where the agent works and, if it listens, how far it has read."""

    cursor: Annotated[
        Seq | None,
        Field(
            description="The agent has handled every broadcast up to this number; it then counts as listening. null: "
            "only read the state."
        ),
    ] = None
    via: Annotated[Via, Field(description="How the agent receives broadcasts.")] = Via.POLL


class StreamQuery(PlaceQuery):
    """Where the stream begins and when it ends."""

    after: Annotated[
        Seq | None, Field(description="The last number received; the header Last-Event-ID wins over it.")
    ] = None
    seconds: StreamSeconds = None


class BroadcastsQuery(PlaceQuery):
    """Where the page begins, and how long to wait for it."""

    after: Annotated[Seq, Field(description="Return broadcasts after this number.")] = 0
    limit: PageSize = limits.LIST_LIMIT
    wait: Annotated[
        int,
        Field(
            ge=0, le=limits.WAIT_SECONDS, description="Respond when there is a broadcast, or after this many seconds."
        ),
    ] = 0


class AmygdalaState(Answer):
    """The open alarms and the halts in force."""

    seq: int = Field(description="Number of the last broadcast that this state includes.")
    severity: Severity | None = Field(description="The highest broadcast severity; null if no signal is open.")
    halted: bool
    signals: tuple[SignalAnswer, ...] = Field(description="The open signals, most severe first.")
    halts: tuple[HaltAnswer, ...] = Field(description="The open halts.")
    more: bool = Field(description="Whether more signals are open than are listed here: less severe or older ones.")


class BroadcastAnswer(Answer):
    """One broadcast of the stream."""

    seq: int
    event: dict[str, Any] = Field(description="The CloudEvent.")


class BroadcastList(Answer):
    """The broadcasts after a number, in order."""

    broadcasts: tuple[BroadcastAnswer, ...]
    count: int
    begins: int = Field(
        description="Broadcasts after `after` and up to this number are no longer stored: read the state instead."
    )
    through: int = Field(
        description="Everything up to this number has been returned: pass it as `after` for the next page."
    )
    last: int = Field(description="Number of the newest broadcast.")


class Skipped(Answer):
    """A range of numbers, inclusive, that a stream skips: not visible to this key, or no longer stored."""

    first: int
    last: int


class SubscriberAnswer(Answer):
    """An agent that listens."""

    agent_id: str
    cursor: int = Field(description="It has handled every broadcast up to this number.")
    via: str | None
    org: str | None
    project: str | None
    seen_at: datetime


class SubscriberList(Answer):
    """A page of subscribers, by agent."""

    subscribers: tuple[SubscriberAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")
