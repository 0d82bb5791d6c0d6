"""What narrows a list, a search or a count, and the criteria that it means."""

from typing import Annotated, ClassVar

from pydantic import Field

from openbrain.domain import limits
from openbrain.domain.submission import Moment, Org, Project
from openbrain.domain.times import from_datetime
from openbrain.domain.visibility import Criteria
from openbrain_api.requests.memories import CURSOR, AgentList, ScopeList, SessionQuery, SourceList, TagList, TypeList


class NarrowQuery(SessionQuery):
    """Browsing: what is of no such org, project, … is left out."""

    many = frozenset({"type", "tags", "source", "agent_id", "include_scopes"})
    lenient: ClassVar[frozenset[str]] = frozenset({"org", "project", "type", "agent_id"})

    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    type: TypeList = ()
    agent_id: Annotated[AgentList, Field(description="Who wrote it.")] = ()
    source: SourceList = ()
    tags: Annotated[TagList, Field(description="At least one of them.")] = ()
    include_scopes: ScopeList = ()
    min_confidence: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    since: Annotated[Moment | None, Field(description="Happened then or later.")] = None
    until: Annotated[Moment | None, Field(description="Happened before.")] = None

    def criteria(self) -> Criteria:
        """Of these alone; who may see what is the viewer's."""
        return Criteria(
            org=self.org or "",
            project=self.project or "",
            only_project=True,
            types=self.type,
            scopes=self.include_scopes,
            tags=self.tags,
            agents=self.agent_id,
            sources=self.source,
            min_confidence=self.min_confidence,
            since=None if self.since is None else from_datetime(self.since),
            until=None if self.until is None else from_datetime(self.until),
        )


class ListQuery(NarrowQuery):
    """Whose memories, newest first, and how many."""

    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="The next_cursor of an answer: list what follows it.")
    ] = None
