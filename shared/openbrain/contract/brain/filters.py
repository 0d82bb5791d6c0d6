"""Filters of memories, in bodies and in queries."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from openbrain.contract.base import Body, QueryString
from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.submission import (
    Agent,
    Confidence,
    Keyword,
    Moment,
    Org,
    Project,
    Session,
    Source,
    Tag,
)
from openbrain.domain.times import from_datetime
from openbrain.domain.visibility import Criteria

SCOPES = 16


def listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def without_empty(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: part for name, part in value.items() if part is not None and part not in ("", [])}
    return value


MostTypes = Field(max_length=len(MemoryType))
MostScopes = Field(max_length=SCOPES)
MostTags = Field(max_length=limits.TAGS)
MostWords = Field(max_length=limits.KEYWORDS)
TypeList = Annotated[tuple[MemoryType, ...], MostTypes]
ScopeList = Annotated[tuple[Scope, ...], MostScopes]
AgentList = Annotated[tuple[Agent, ...], MostWords]
SourceList = Annotated[tuple[Source, ...], MostWords]
TagList = Annotated[tuple[Tag, ...], MostTags]
KeywordList = Annotated[tuple[Keyword, ...], MostWords]
# The same, where one alone may stand for a list of one.
Types = Annotated[TypeList, BeforeValidator(listed, json_schema_input_type=MemoryType | TypeList)]
Scopes = Annotated[ScopeList, BeforeValidator(listed, json_schema_input_type=Scope | ScopeList)]
Agents = Annotated[AgentList, BeforeValidator(listed, json_schema_input_type=Agent | AgentList)]
Sources = Annotated[SourceList, BeforeValidator(listed, json_schema_input_type=Source | SourceList)]
AnyTags = Annotated[TagList, BeforeValidator(listed, json_schema_input_type=Tag | TagList)]
Keywords = Annotated[KeywordList, BeforeValidator(listed, json_schema_input_type=Keyword | KeywordList)]


class FilterBody(Body):
    """Upstream's nested form; members of the same name beside it win."""

    org: Org | None = None
    project: Project | None = None
    type: Types = ()
    agent_id: Annotated[Agents, Field(description="Who wrote it.")] = ()
    source: Sources = ()
    tags: AnyTags = ()
    min_confidence: Confidence | None = None

    _empty = model_validator(mode="before")(without_empty)


class SessionQuery(QueryString):
    """Opens the agent's memories of that session."""

    session_id: Session | None = None


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
