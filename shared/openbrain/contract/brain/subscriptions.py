"""Subscriptions: recalls that are asked again of each new memory."""

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
    """The way in which an agent hears of matches. The inbox has them in any case."""

    INBOX = "inbox"
    """Read there, heard as server-sent events, or by `Subscriber`."""
    WEBHOOK = "webhook"


Asking = Annotated[Agent | None, Field(description="Whose inbox, where the key may speak for that agent.")]


class SubscriptionFilter(FilterBody):
    """The filters of the memories, as in a recall."""

    include_scopes: Scopes = ()

    def criteria(self) -> Criteria:
        """The viewer is not part of it."""
        return replace(self.common_criteria(), scopes=self.include_scopes, agents=self.agent_id)


class SubscriptionBody(Body):
    """A subscription to new memories: by meaning and words, by a filter, or by both."""

    query: Annotated[Query | None, Field(description="Without one the filter alone decides.")] = None
    filter: SubscriptionFilter | None = None
    min_similarity: Annotated[
        Confidence,
        Field(
            description="Nothing of less similarity is delivered: the cosine of query and passage by the model that "
            "serves, and at least 0.8 where the memory holds every word."
        ),
    ] = SIMILARITY_DEFAULT
    include_own: Annotated[StrictBool, Field(description="Also what the agent itself wrote.")] = False
    channel: Annotated[
        Channel, Field(description="The inbox has what is found in any case; `webhook` has it posted to `url` too.")
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
    """Memories of which time."""

    since: Annotated[Moment, Field(description="Stored then or later.")]
    until: Annotated[Moment | None, Field(description="Stored before; null: all until now.")] = None
    agent_id: Asking = None


class SubscriptionsQuery(QueryString):
    """A page."""

    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[str | None, Field(pattern=CURSOR)] = None
    agent_id: Asking = None


class SubscriptionQuery(QueryString):
    """The agent that asks."""

    agent_id: Asking = None


class FilterAnswer(Answer):
    """The filter as it was given."""

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
    cursor: int = Field(description="Everything of the inbox up to this number is posted, or given up.")
    attempts: int = Field(description="Failed ones, for what stands behind the cursor.")
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    given_up: int = Field(description="Matches that were not taken after all attempts.")
    error: str | None = Field(description="Of the last attempt.")

    @classmethod
    def shown(cls, webhook: QueryWebhook) -> Self:
        """The webhook as a response."""
        due = to_datetime(webhook.next_attempt_at) if webhook.attempts else None
        return cls.of(webhook, next_attempt_at=due)


class SubscriptionAnswer(Answer):
    """A standing query. Its matches come to the agent's inbox."""

    id: str
    agent_id: str
    query: str | None
    filter: FilterAnswer
    min_similarity: float
    include_own: bool
    channel: Channel = Channel.INBOX
    webhook: SubscriptionWebhook | None = Field(default=None, description="Of the channel `webhook`.")
    created_at: datetime
    replaying: bool = Field(default=False, description="Whether it is held against memories of before.")
    embedded: bool = Field(description="Whether it is compared by meaning too; until then by its words alone.")

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
        default=None, description="Of the channel `webhook`: what bodies are signed with; shown in this answer only."
    )


class SubscriptionList(Answer):
    """Oldest first."""

    subscriptions: tuple[SubscriptionAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class SubscriptionRemoved(Answer):
    """A removed subscription; its matches in the inbox are removed with it."""

    id: str
    removed: bool
