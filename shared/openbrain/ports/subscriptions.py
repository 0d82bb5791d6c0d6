"""Standing queries: what agents want to hear of as soon as it is remembered, and what was found for them."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from openbrain.domain.access.visibility import Criteria, Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingQuery:
    """A recall that is asked again of each new memory. Times are microseconds."""

    id: str
    workspace_id: str
    agent_id: str
    """The agent whose inbox receives its matches."""
    key_id: str
    """The key whose view it has, for as long as the key, or the one that replaced it, is open."""
    orgs: tuple[str, ...] | None = None
    without_org: bool = True
    query: str = ""
    """'' where the criteria alone decide."""
    criteria: Criteria = field(default_factory=Criteria)
    min_similarity: float = 0.0
    include_own: bool = False
    """Whether it finds what its agent wrote itself."""
    created_at: int
    deleted_at: int | None = None
    change_seq: int = 0
    """The number of its last change within the workspace; given when it is stored."""

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.workspace_id, self.agent_id, self.orgs, self.without_org)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWebhook:
    """The address that a standing query's matches are posted to, beside the inbox, and how far that has come."""

    id: str
    """Of the query."""
    workspace_id: str
    url: str
    secret: str = field(repr=False)
    """The signing secret of bodies; never shown again."""
    cursor: int = 0
    """The number in the agent's inbox up to which all is posted or given up."""
    attempts: int = 0
    """Failed ones, for what stands behind the cursor."""
    next_attempt_at: int = 0
    delivered_at: int | None = None
    given_up: int = 0
    """Matches that were not taken after all attempts."""
    error: str = ""
    """Of the last attempt; '' where it succeeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A memory that a standing query found."""

    query: StandingQuery
    memory_id: str
    revision: int
    org: str
    content_hash: str
    similarity: float | None
    """None where the query has no words."""


class MatchedMemory(NamedTuple):
    """A memory that was held against all standing queries of its workspace, as of that revision."""

    memory_id: str
    revision: int


class QueuedMemory(NamedTuple):
    """A memory that is still to be matched."""

    memory_id: str
    workspace_id: str
    revision: int
    model: str
    """By which it was embedded; '' where it was not, or has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Memories of a time that a standing query is still to be held against, from the newest back. Microseconds."""

    query: StandingQuery
    since: int
    """Made then or later."""
    before: tuple[int, str]
    """created_at and id of the one that was looked at last."""
    again: bool
    """Whether what was delivered before is delivered again."""


class Replays(Protocol):
    """One a standing query at most: another one takes its place."""

    async def start_replay(self, replay: Replay) -> None:
        """`NotFound` where the query was removed."""

    async def replays(self, limit: int) -> Sequence[Replay]:
        """Some that are not at their end."""

    async def replays_of(self, ids: Sequence[str]) -> Mapping[str, Replay]: ...

    async def replayed(self, replay: Replay, before: tuple[int, str] | None) -> None:
        """Note how far a replay has come; None: to its end. A replay that took its place meanwhile stays as it is."""


class StandingQueries(Protocol):
    """Standing queries of a workspace. An agent sees its own, as far as the key's orgs go."""

    async def add_query(
        self, query: StandingQuery, vectors: Mapping[str, "array[float]"], webhook: QueryWebhook | None = None
    ) -> StandingQuery:
        """`vectors`: of the query, by model. `webhook` is posted what is found from now on (`cursor` is set here).
        `NotFound` for an unknown workspace; `Conflict` where key or workspace have as many as they may
        (`domain.limits`)."""

    async def query(self, viewer: Viewer, query_id: str) -> StandingQuery | None:
        """One that is not removed."""

    async def queries(
        self, viewer: Viewer, limit: int, after: tuple[int, str] | None = None
    ) -> Sequence[StandingQuery]:
        """Oldest first; `after` (created_at and id of one) lists those that follow it."""

    async def remove_query(self, viewer: Viewer, query_id: str) -> bool:
        """With its matches; False where there is none."""

    async def last_changes(self, workspace_ids: Sequence[str]) -> Mapping[str, int]:
        """The number of the last change, of the workspaces among these that have standing queries."""

    async def changed_queries(self, workspace_id: str, after: int, limit: int) -> Sequence[StandingQuery]:
        """Queries changed behind that number, in order of their last change, removed ones among them."""

    async def query_vectors(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, "array[float]"]]:
        """By query and model."""

    async def without_vector(self, model: str, limit: int) -> Sequence[StandingQuery]:
        """Some that have a text and no vector by this model."""

    async def save_query_vectors(self, model: str, vectors: Mapping[str, "array[float]"]) -> None:
        """By query. Those that are removed meanwhile are passed over."""

    async def purge_queries(self, before: int, limit: int) -> int:
        """Forget those removed before that time; how many."""


class QueryWebhooks(Protocol):
    """At most one a standing query; it goes with its query."""

    async def webhooks_of(self, ids: Sequence[str]) -> Mapping[str, QueryWebhook]: ...

    async def due(self, now: int, limit: int) -> Sequence[tuple[StandingQuery, QueryWebhook]]:
        """Webhooks with messages behind their cursor whose next attempt is due, the longest due first; of queries that
        stand and whose key is open."""

    async def save_progress(self, webhook: QueryWebhook) -> None:
        """Save its cursor, which only rises."""


class Matches(Protocol):
    """Matches, each in the inbox of the agent that asked; and memories still to be matched."""

    async def deliver(
        self,
        workspace_id: str,
        matches: Sequence[Match],
        done: Sequence[MatchedMemory],
        now: int,
        *,
        again: bool = False,
    ) -> Sequence[Match]:
        """Put matches into the inboxes, and take `done` off the queue. Left out is a memory that changed meanwhile,
        whatever was delivered with the same content, and whatever is of a query that was removed or of a key that is
        not open; the others are returned. One that is delivered again, because it changed or with `again`, moves to the
        inbox's end."""

    async def withdraw(self, workspace_id: str, ended: Sequence[MatchedMemory], now: int) -> int:
        """Mark what was delivered of these memories as withdrawn, and move it to the inbox's end; take them off the
        queue. How many were not withdrawn before."""

    async def queued(self, now: int, limit: int) -> Sequence[QueuedMemory]:
        """Due ones, the longest due first."""
