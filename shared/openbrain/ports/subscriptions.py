"""Standing queries: what agents want to be notified of as soon as it is remembered, and the matches."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from openbrain.domain.access.visibility import NEVER, Criteria, Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingQuery:
    """A recall that is run against each new memory. Times are microseconds."""

    id: str
    workspace_id: str
    agent_id: str
    """The agent whose inbox receives its matches."""
    key_id: str
    """The key whose visibility applies, as long as that key or its replacement is valid."""
    orgs: tuple[str, ...] | None = None
    without_org: bool = True
    query: str = ""
    """'' if only the criteria decide."""
    criteria: Criteria = field(default_factory=Criteria)
    min_similarity: float = 0.0
    include_own: bool = False
    """True if memories written by its own agent match too."""
    created_at: int
    deleted_at: int | None = None
    change_seq: int = 0
    """The workspace's change number at its last change; assigned when stored."""

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.workspace_id, self.agent_id, self.orgs, self.without_org)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWebhook:
    """The URL that a standing query's matches are posted to, in addition to the inbox, and the delivery progress."""

    id: str
    """The id of the query."""
    workspace_id: str
    url: str
    secret: str = field(repr=False)
    """Signs the bodies; not shown again."""
    cursor: int = 0
    """The number in the agent's inbox up to which everything is delivered or given up."""
    attempts: int = 0
    """Failed attempts for the match behind the cursor."""
    next_attempt_at: int = 0
    delivered_at: int | None = None
    given_up: int = 0
    """Matches given up after all attempts."""
    error: str = ""
    """The error of the last attempt; '' if it succeeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A memory that a standing query found."""

    query: StandingQuery
    memory_id: str
    revision: int
    org: str
    content_hash: str
    similarity: float | None
    """None if the query has no text."""


class MatchedMemory(NamedTuple):
    """A memory that was matched against all standing queries of its workspace at that revision."""

    memory_id: str
    revision: int


class QueuedMemory(NamedTuple):
    """A memory that is still to be matched."""

    memory_id: str
    workspace_id: str
    revision: int
    model: str
    """The model that embedded it; '' if it was not embedded or has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The memories of a period that a standing query has yet to be matched against, newest first. Microseconds."""

    query: StandingQuery
    since: int
    """Only memories made at this time or later."""
    before: tuple[int, str]
    """created_at and id of the memory processed last."""
    again: bool
    """True if earlier matches are delivered again."""


class Replays(Protocol):
    """At most one per standing query; a new one replaces it."""

    async def start_replay(self, replay: Replay) -> None:
        """Raise `NotFound` if the query was removed."""

    async def replays(self, limit: int) -> Sequence[Replay]:
        """List some unfinished replays, others each time, so that each of many goes on."""

    async def replays_of(self, ids: Sequence[str]) -> Mapping[str, Replay]: ...

    async def replayed(self, replay: Replay, before: tuple[int, str] | None) -> None:
        """Store the progress of a replay; None: it is finished. A replay that replaced it meanwhile stays unchanged."""


class StandingQueries(Protocol):
    """Standing queries of a workspace. An agent sees its own, limited to the orgs of the key."""

    async def add_query(
        self, query: StandingQuery, vectors: Mapping[str, "array[float]"], webhook: QueryWebhook | None = None
    ) -> StandingQuery:
        """Add a query. `vectors`: its embeddings by model. `webhook` gets matches found from now on (`cursor` is set
        here). Raise `NotFound` for an unknown workspace, `Conflict` if key or workspace have reached their limit
        (`domain.limits`)."""

    async def query(self, viewer: Viewer, query_id: str) -> StandingQuery | None:
        """Return a query that is not removed."""

    async def queries(
        self, viewer: Viewer, limit: int, after: tuple[int, str] | None = None
    ) -> Sequence[StandingQuery]:
        """List queries, oldest first. `after`: created_at and id of the last query of the previous page."""

    async def remove_query(self, viewer: Viewer, query_id: str) -> bool:
        """Remove a query and its matches. False if there is none."""

    async def last_changes(self, workspace_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the number of the last change of each of these workspaces; absent for workspaces without standing
        queries."""

    async def changed_queries(self, workspace_id: str, after: int, limit: int) -> Sequence[StandingQuery]:
        """List queries changed after number `after`, by their last change, including removed ones."""

    async def query_vectors(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, "array[float]"]]:
        """Return embeddings by query and model."""

    async def without_vector(self, model: str, limit: int) -> Sequence[StandingQuery]:
        """List some queries that have a text, not an erased one, but no vector of this model."""

    async def save_query_vectors(
        self,
        model: str,
        vectors: Mapping[str, "array[float]"],
        missed: Sequence[Replay] = (),
        *,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        """Store vectors by query, and start the replays `missed` in the same transaction; one that runs already is
        extended, not replaced. Queries removed meanwhile are skipped, and those whose text is not the one embedded, if
        `texts` names it."""

    async def purge_queries(self, before: int, limit: int) -> int:
        """Delete queries removed before `before`. Return how many."""


class QueryWebhooks(Protocol):
    """At most one per standing query; removed together with it."""

    async def webhooks_of(self, ids: Sequence[str]) -> Mapping[str, QueryWebhook]: ...

    async def due(
        self, now: int, limit: int, after: str = "", latest: int = NEVER
    ) -> Sequence[tuple[StandingQuery, QueryWebhook]]:
        """List webhooks with messages behind their cursor and a next attempt that is due, by id: first those behind the
        id `after`, so that each has its turn. Only for queries that are not removed and whose key is valid. An attempt
        planned for a time after `latest` is due: the clock was ahead then."""

    async def save_progress(self, webhook: QueryWebhook) -> bool:
        """Store the delivery progress. The cursor never decreases. False if the webhook was removed meanwhile."""


class Matches(Protocol):
    """Matches in the inboxes of the agents that asked, and the queue of memories to match."""

    async def deliver(
        self,
        workspace_id: str,
        matches: Sequence[Match],
        done: Sequence[MatchedMemory],
        now: int,
        *,
        again: bool = False,
    ) -> Sequence[Match]:
        """Put matches into the inboxes and remove `done` from the queue. Skip a match if its memory changed meanwhile,
        the same content was delivered before, its query was removed, or its key is not valid. Return the others. A
        match that is delivered again (because it changed, or with `again`) moves to the end of the inbox."""

    async def withdraw(self, workspace_id: str, ended: Sequence[MatchedMemory], now: int) -> int:
        """Mark delivered matches of these memories as withdrawn and move them to the end of the inbox; remove the
        memories from the queue. Return how many matches were not withdrawn before."""

    async def queued(self, now: int, limit: int) -> Sequence[QueuedMemory]:
        """List memories that are due, longest due first."""
