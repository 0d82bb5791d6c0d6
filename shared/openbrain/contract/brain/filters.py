"""Filters of memories, in bodies and in queries."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, StringConstraints, model_validator

from openbrain.contract.base import Body, QueryString
from openbrain.domain import limits
from openbrain.domain.access.metadata_pairs import METADATA_KEY, pair
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.events.submission import (
    Agent,
    Confidence,
    Keyword,
    Moment,
    Org,
    Project,
    Session,
    Source,
    Speaker,
    Tag,
)
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.text.control_characters import plain_text
from openbrain.domain.times import from_datetime

SCOPES = 16
LEAST_MATCHING = 3
"""Characters: fewer are in nearly everything."""


def listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def without_nulls(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: part for name, part in value.items() if part is not None}
    return value


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
SpeakerList = Annotated[tuple[Speaker, ...], MostWords]
Matching = Annotated[
    str,
    StringConstraints(min_length=LEAST_MATCHING, max_length=limits.MATCHING_CHARS),
    AfterValidator(plain_text),
]
SourceList = Annotated[tuple[Source, ...], MostWords]
TagList = Annotated[tuple[Tag, ...], MostTags]
KeywordList = Annotated[tuple[Keyword, ...], MostWords]
MetadataKey = Annotated[str, StringConstraints(pattern=f"^{METADATA_KEY}$")]
MetadataValue = Annotated[str, StringConstraints(max_length=limits.METADATA_VALUE_CHARS), AfterValidator(plain_text)]
MetadataFilter = Annotated[
    dict[MetadataKey, StrictBool | StrictInt | MetadataValue], Field(min_length=1, max_length=limits.METADATA_FILTERS)
]
# The same, where one alone may stand for a list of one.
Types = Annotated[TypeList, BeforeValidator(listed, json_schema_input_type=MemoryType | TypeList)]
Scopes = Annotated[ScopeList, BeforeValidator(listed, json_schema_input_type=Scope | ScopeList)]
Agents = Annotated[AgentList, BeforeValidator(listed, json_schema_input_type=Agent | AgentList)]
Sources = Annotated[SourceList, BeforeValidator(listed, json_schema_input_type=Source | SourceList)]
AnyTags = Annotated[TagList, BeforeValidator(listed, json_schema_input_type=Tag | TagList)]
Speakers = Annotated[SpeakerList, BeforeValidator(listed, json_schema_input_type=Speaker | SpeakerList)]
Keywords = Annotated[KeywordList, BeforeValidator(listed, json_schema_input_type=Keyword | KeywordList)]


class CommonFilters(Body):
    """The filters that every request for memories has."""

    org: Org | None = None
    project: Project | None = None
    type: Types = ()
    source: Sources = ()
    tags: Annotated[AnyTags, Field(description="At least one of them.")] = ()
    metadata: Annotated[
        MetadataFilter | None,
        Field(description="Members of the metadata that have these plain values: texts, whole numbers, true, false."),
    ] = None
    min_confidence: Annotated[Confidence | None, Field(description="Of the stored value, before it fades.")] = None
    max_confidence: Annotated[Confidence | None, Field(description="At most this, before it fades.")] = None

    def common_criteria(self) -> Criteria:
        """Of these filters alone."""
        return Criteria(
            org=self.org or "",
            project=self.project or "",
            types=self.type,
            tags=self.tags,
            sources=self.source,
            metadata=tuple(pair(key, value) for key, value in (self.metadata or {}).items()),
            min_confidence=self.min_confidence,
            max_confidence=self.max_confidence,
        )


class FilterBody(CommonFilters):
    """Upstream's nested form; members of the same name beside it win."""

    agent_id: Annotated[Agents, Field(description="Who wrote it.")] = ()

    _empty = model_validator(mode="before")(without_empty)


class Filters(CommonFilters):
    """The filters of memories, in bodies and in queries; the viewer is not part of them."""

    include_scopes: Scopes = ()
    session_id: Annotated[Session | None, Field(description="Opens the agent's memories of that session.")] = None
    since: Annotated[Moment | None, Field(description="Happened then or later.")] = None
    until: Annotated[Moment | None, Field(description="Happened before.")] = None

    def criteria(self, authors: tuple[str, ...] = (), *, only_project: bool = True) -> Criteria:
        """`authors`: the agents that wrote them."""
        return replace(
            self.common_criteria(),
            only_project=only_project,
            scopes=self.include_scopes,
            agents=authors,
            since=None if self.since is None else from_datetime(self.since),
            until=None if self.until is None else from_datetime(self.until),
        )


class BrowseFilters(Filters):
    """Browsing: what is of no such org, project, … is left out."""

    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    agent_id: Annotated[Agents, Field(description="Who wrote it.")] = ()

    def criteria(self, authors: tuple[str, ...] = (), *, only_project: bool = True) -> Criteria:
        """Of these authors and those of `agent_id`."""
        return super().criteria((*authors, *self.agent_id), only_project=only_project)


class SubjectFilters(BrowseFilters):
    """Selection of the memories about one person or thing, in any state."""

    speaker: Annotated[Speakers, Field(description="Who said it.")] = ()
    matching: Annotated[
        Matching | None,
        Field(description="A text of it, or of its history, holds this, in whatever case of letters."),
    ] = None

    def criteria(self, authors: tuple[str, ...] = (), *, only_project: bool = True) -> Criteria:
        """With what the database alone is asked for."""
        criteria = super().criteria(authors, only_project=only_project)
        return replace(criteria, speakers=self.speaker, says=self.matching or "")


class BrowseQuery(BrowseFilters, QueryString):
    """The filters of memories in a query."""

    many = frozenset({"type", "tags", "source", "agent_id", "include_scopes"})
    lenient = frozenset({"org", "project", "type", "agent_id"})
    objects = frozenset({"metadata"})

    min_confidence: Annotated[
        float | None, Field(ge=0, le=1, allow_inf_nan=False, description="Of the stored value, before it fades.")
    ] = None
    max_confidence: Annotated[
        float | None, Field(ge=0, le=1, allow_inf_nan=False, description="At most this, before it fades.")
    ] = None


class SessionQuery(QueryString):
    """Opens the agent's memories of that session."""

    session_id: Session | None = None
