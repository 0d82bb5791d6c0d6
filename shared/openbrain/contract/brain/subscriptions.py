"""Subscriptions: recalls that are asked again of each new memory."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, StrictBool, model_validator

from openbrain.contract.base import CURSOR, Answer, Body, PageSize, QueryString
from openbrain.contract.brain.filters import FilterBody, Scopes
from openbrain.domain import limits
from openbrain.domain.access.metadata_pairs import pair
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.events.submission import Agent, Confidence, Moment, Query
from openbrain.domain.memory import MemoryType, Scope
from openbrain.ports.subscriptions import StandingQuery

SIMILARITY_DEFAULT = 0.5
Asking = Annotated[Agent | None, Field(description="Whose inbox, where the key may speak for that agent.")]


class SubscriptionFilter(FilterBody):
    """What narrows the memories, as in a recall."""

    include_scopes: Scopes = ()

    def criteria(self) -> Criteria:
        """The viewer is not part of it."""
        return Criteria(
            org=self.org or "",
            project=self.project or "",
            types=self.type,
            scopes=self.include_scopes,
            tags=self.tags,
            agents=self.agent_id,
            sources=self.source,
            min_confidence=self.min_confidence,
            max_confidence=self.max_confidence,
            metadata=tuple(pair(key, value) for key, value in (self.metadata or {}).items()),
        )


class SubscriptionBody(Body):
    """What to be told of: by meaning and words, by a filter, or by both."""

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
    agent_id: Asking = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.query is None and self.filter is None:
            raise ValueError("give a query, a filter, or both")
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
    """Who asks."""

    agent_id: Asking = None


class FilterAnswer(Answer):
    """As it was given."""

    org: str | None
    project: str | None
    type: tuple[MemoryType, ...]
    include_scopes: tuple[Scope, ...]
    tags: tuple[str, ...]
    agent_id: tuple[str, ...]
    source: tuple[str, ...]
    min_confidence: float | None
    metadata: tuple[str, ...] = Field(default=(), description="Pairs, as `key=value`.")


class SubscriptionAnswer(Answer):
    """A standing query. Its matches come to the agent's inbox."""

    id: str
    agent_id: str
    query: str | None
    filter: FilterAnswer
    min_similarity: float
    include_own: bool
    created_at: datetime
    replaying: bool = Field(default=False, description="Whether it is held against memories of before.")
    embedded: bool = Field(description="Whether it is compared by meaning too; until then by its words alone.")

    @classmethod
    def shown(cls, query: StandingQuery, *, embedded: bool, replaying: bool = False) -> Self:
        """As the API gives it."""
        criteria = query.criteria
        given = FilterAnswer(
            org=criteria.org or None,
            project=criteria.project or None,
            type=criteria.types,
            include_scopes=criteria.scopes,
            tags=criteria.tags,
            agent_id=criteria.agents,
            source=criteria.sources,
            min_confidence=criteria.min_confidence,
            metadata=criteria.metadata,
        )
        return cls.of(query, filter=given, embedded=embedded, replaying=replaying)


class SubscriptionCreated(SubscriptionAnswer):
    """It hears of what is remembered from now on."""


class SubscriptionList(Answer):
    """Oldest first."""

    subscriptions: tuple[SubscriptionAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class SubscriptionRemoved(Answer):
    """It is gone, with its matches in the inbox."""

    id: str
    removed: bool
