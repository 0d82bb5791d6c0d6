"""What the routes take that end memories, many of them, or a whole workspace."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from openbrain.domain.submission import Confidence, Moment, Note, Org, Project, Session
from openbrain.domain.times import from_datetime
from openbrain.domain.visibility import Criteria
from openbrain_api.requests.admin import WorkspaceName
from openbrain_api.requests.memories import Agents, AnyTags, Body, ForgetQuery, QueryString, Scopes, Sources, Types

_FILTERS = (
    *("org", "project", "type", "agent_id", "source", "tags", "include_scopes", "min_confidence", "since", "until"),
)


class EndQuery(ForgetQuery):
    """How it ends."""

    erase: Annotated[
        bool, Field(description="Leave nothing of it but the proof that it was erased. Can't be undone.")
    ] = False


class BulkBody(Body):
    """Which memories end: all that `GET /v1/brain/list` would list with these filters. At least one is needed, and a
    member that is not known here is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    type: Types = ()
    agent_id: Annotated[Agents, Field(description="Who wrote it.")] = ()
    source: Sources = ()
    tags: Annotated[AnyTags, Field(description="At least one of them.")] = ()
    include_scopes: Scopes = ()
    min_confidence: Confidence | None = None
    since: Annotated[Moment | None, Field(description="Happened then or later.")] = None
    until: Annotated[Moment | None, Field(description="Happened before.")] = None
    session_id: Annotated[Session | None, Field(description="Opens the agent's memories of that session.")] = None
    reason: Note | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only tell what would end.")] = True
    erase: Annotated[bool, Field(strict=True, description="Erase them instead. Can't be undone.")] = False

    @model_validator(mode="after")
    def _narrowed(self) -> Self:
        if all(getattr(self, name) in (None, ()) for name in _FILTERS):
            raise ValueError(f"give at least one of {', '.join(_FILTERS)}")
        return self

    def criteria(self) -> Criteria:
        """As a list has them."""
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


class DeleteWorkspaceQuery(QueryString):
    """Look first, then name it twice."""

    dry_run: Annotated[bool, Field(description="Only tell what it holds.")] = False
    confirm: Annotated[WorkspaceName | None, Field(description="The workspace's id once more.")] = None
