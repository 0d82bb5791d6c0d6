"""Subscriptions: standing queries that are matched against each new memory."""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StrictBool, model_validator

from openbrain.contract.amygdala.webhooks import Url
from openbrain.contract.base import CURSOR, Answer, Body, PageSize, QueryString
from openbrain.contract.brain.filters import FilterBody, Scopes
from openbrain.domain import limits
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.events.submission import Agent, Confidence, Moment, Query
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.times import to_datetime
from openbrain.ports.subscriptions import QueryWebhook, StandingQuery

SIMILARITY_DEFAULT = 0.5


class Channel(StrEnum):
    """How matches are delivered. The inbox receives them in any case."""

    INBOX = "inbox"
    """Read from the inbox, as server-sent events, or with `Subscriber`."""
    WEBHOOK = "webhook"


Asking = Annotated[
    Agent | None, Field(description="The agent whose inbox is used; ignored unless the key's `act_as` allows it.")
]


class SubscriptionFilter(FilterBody):
    """The filters of the memories, as in a recall."""

    include_scopes: Scopes = ()

    def criteria(self) -> Criteria:
        """Return the criteria, without the viewer."""
        return replace(self.common_criteria(), scopes=self.include_scopes, agents=self.agent_id)


class SubscriptionBody(Body):
    """A subscription to new memories: by meaning and words, by a filter, or by both."""

    query: Annotated[Query | None, Field(description="If left out, only the filter decides.")] = None
    filter: SubscriptionFilter | None = None
    min_similarity: Annotated[
        Confidence,
        Field(
            description="Minimum similarity of a match: the cosine of query and passage by the serving model, and at "
            "least 0.8 if the memory contains every word."
        ),
    ] = SIMILARITY_DEFAULT
    include_own: Annotated[StrictBool, Field(description="Also match memories that the agent itself wrote.")] = False
    channel: Annotated[
        Channel, Field(description="Matches go to the inbox in any case; with `webhook` they are also posted to `url`.")
    ] = Channel.INBOX
    url: Url | None = None
    agent_id: Asking = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.query is None and self.filter is None:
            raise ValueError("give a query, a filter, or both")
        if (self.channel is Channel.WEBHOOK) != (self.url is not None):
            raise ValueError("give a url with the channel webhook, and with no other")
        return self


class SubscriptionReplayBody(Body):
    """The time range of the memories to match again."""

    since: Annotated[Moment, Field(description="Stored at or after this time.")]
    until: Annotated[Moment | None, Field(description="Stored before this time; null: until now.")] = None
    agent_id: Asking = None


class SubscriptionsQuery(QueryString):
    """Selects a page of subscriptions."""

    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[str | None, Field(pattern=CURSOR)] = None
    agent_id: Asking = None


class SubscriptionQuery(QueryString):
    """Names the agent that asks."""

    agent_id: Asking = None


class FilterAnswer(Answer):
    """The filter of the subscription."""

    org: str | None
    project: str | None
    type: tuple[MemoryType, ...]
    include_scopes: tuple[Scope, ...]
    tags: tuple[str, ...]
    agent_id: tuple[str, ...]
    source: tuple[str, ...]
    min_confidence: float | None
    metadata: tuple[str, ...] = Field(default=(), description="Pairs, as `key=value`.")


class SubscriptionWebhook(Answer):
    """The address that matches are posted to. A match that is given up stays in the inbox."""

    url: str
    cursor: int = Field(description="Everything in the inbox up to this number was posted or given up.")
    attempts: int = Field(description="Failed attempts for the match after the cursor.")
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    given_up: int = Field(description="Matches given up after all attempts.")
    error: str | None = Field(description="Error of the last attempt.")

    @classmethod
    def shown(cls, webhook: QueryWebhook) -> Self:
        """The webhook as a response."""
        due = to_datetime(webhook.next_attempt_at) if webhook.attempts else None
        return cls.of(webhook, next_attempt_at=due)


class SubscriptionAnswer(Answer):
    """A standing query. Its matches are delivered to the agent's inbox."""

    id: str
    agent_id: str
    query: str | None
    filter: FilterAnswer
    min_similarity: float
    include_own: bool
    channel: Channel = Channel.INBOX
    webhook: SubscriptionWebhook | None = Field(default=None, description="Set for the channel `webhook`.")
    created_at: datetime
    replaying: bool = Field(default=False, description="Whether it is being matched against older memories.")
    embedded: bool = Field(description="Whether it is matched by meaning too; until then only by its words.")

    @classmethod
    def shown(
        cls,
        query: StandingQuery,
        *,
        embedded: bool,
        replaying: bool = False,
        webhook: QueryWebhook | None = None,
        **more: object,
    ) -> Self:
        """The subscription as a response."""
        criteria = query.criteria
        given = FilterAnswer.of(
            criteria,
            type=criteria.types,
            include_scopes=criteria.scopes,
            agent_id=criteria.agents,
            source=criteria.sources,
        )
        return cls.of(
            query,
            filter=given,
            embedded=embedded,
            replaying=replaying,
            channel=Channel.INBOX if webhook is None else Channel.WEBHOOK,
            webhook=None if webhook is None else SubscriptionWebhook.shown(webhook),
            **more,
        )


class SubscriptionCreated(SubscriptionAnswer):
    """A new subscription. It matches memories stored from now on."""

    secret: str | None = Field(
        default=None, description="For the channel `webhook`: the key that bodies are signed with; only returned here."
    )


class SubscriptionList(Answer):
    """A page of subscriptions, oldest first."""

    subscriptions: tuple[SubscriptionAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class SubscriptionRemoved(Answer):
    """A removed subscription; its matches in the inbox are removed with it."""

    id: str
    removed: bool
