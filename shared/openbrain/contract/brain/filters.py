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
    Moment,
    Org,
    Project,
    Session,
    Source,
    Speaker,
    Tag,
    Word,
)
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.text.control_characters import plain_text
from openbrain.domain.times import from_datetime

SCOPES = 16
LEAST_MATCHING = 3
"""In characters: a shorter text occurs in nearly every memory."""


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
KeywordList = Annotated[tuple[Word, ...], MostWords]
MetadataKey = Annotated[str, StringConstraints(pattern=f"^{METADATA_KEY}$")]
MetadataValue = Annotated[str, StringConstraints(max_length=limits.METADATA_VALUE_CHARS), AfterValidator(plain_text)]
MetadataFilter = Annotated[
    dict[MetadataKey, StrictBool | StrictInt | MetadataValue], Field(min_length=1, max_length=limits.METADATA_FILTERS)
]
# The same, but a single value is accepted as a list of one.
Types = Annotated[TypeList, BeforeValidator(listed, json_schema_input_type=MemoryType | TypeList)]
Scopes = Annotated[ScopeList, BeforeValidator(listed, json_schema_input_type=Scope | ScopeList)]
Agents = Annotated[AgentList, BeforeValidator(listed, json_schema_input_type=Agent | AgentList)]
Sources = Annotated[SourceList, BeforeValidator(listed, json_schema_input_type=Source | SourceList)]
AnyTags = Annotated[TagList, BeforeValidator(listed, json_schema_input_type=Tag | TagList)]
Speakers = Annotated[SpeakerList, BeforeValidator(listed, json_schema_input_type=Speaker | SpeakerList)]
Keywords = Annotated[KeywordList, BeforeValidator(listed, json_schema_input_type=Word | KeywordList)]


class CommonFilters(Body):
    """The filters that every request for memories accepts."""

    org: Org | None = None
    project: Project | None = None
    type: Types = ()
    source: Sources = ()
    tags: Annotated[AnyTags, Field(description="Memories with at least one of these.")] = ()
    metadata: Annotated[
        MetadataFilter | None,
        Field(description="Members of the metadata that must have these values: strings, integers, true or false."),
    ] = None
    min_confidence: Annotated[
        Confidence | None, Field(description="At least this stored confidence, before decay.")
    ] = None
    max_confidence: Annotated[Confidence | None, Field(description="At most this stored confidence, before decay.")] = (
        None
    )

    def common_criteria(self) -> Criteria:
        """Return the criteria of these filters only."""
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
    """The nested filter of the original API. Top-level members of the same name win over it."""

    agent_id: Annotated[Agents, Field(description="The author.")] = ()

    _empty = model_validator(mode="before")(without_empty)


class Filters(CommonFilters):
    """The filters of memories, in bodies and in queries, without the viewer."""

    include_scopes: Scopes = ()
    session_id: Annotated[
        Session | None, Field(description="Also include the agent's session memories of this session.")
    ] = None
    since: Annotated[Moment | None, Field(description="Happened at or after this time.")] = None
    until: Annotated[Moment | None, Field(description="Happened before this time.")] = None

    def criteria(self, authors: tuple[str, ...] = (), *, only_project: bool = True) -> Criteria:
        """Return the criteria of all filters. `authors`: the agents that wrote the memories."""
        return replace(
            self.common_criteria(),
            only_project=only_project,
            scopes=self.include_scopes,
            agents=authors,
            since=None if self.since is None else from_datetime(self.since),
            until=None if self.until is None else from_datetime(self.until),
        )


class BrowseFilters(Filters):
    """Filters for browsing: memories without the requested org, project, … are left out."""

    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    agent_id: Annotated[Agents, Field(description="The author.")] = ()

    def criteria(self, authors: tuple[str, ...] = (), *, only_project: bool = True) -> Criteria:
        """Return the criteria, with the authors given and those of `agent_id`."""
        return super().criteria((*authors, *self.agent_id), only_project=only_project)


class SubjectFilters(BrowseFilters):
    """Selection of the memories about one person or thing, in any state."""

    speaker: Annotated[Speakers, Field(description="The speaker.")] = ()
    matching: Annotated[
        Matching | None,
        Field(
            description="Only memories that contain this in one of their texts, or contained it earlier; "
            "case-insensitive."
        ),
    ] = None

    def criteria(self, authors: tuple[str, ...] = (), *, only_project: bool = True) -> Criteria:
        """Return the criteria, with the filters that only the database supports."""
        criteria = super().criteria(authors, only_project=only_project)
        return replace(criteria, speakers=self.speaker, says=self.matching or "")


class BrowseQuery(BrowseFilters, QueryString):
    """The filters of memories in a query."""

    many = frozenset({"type", "tags", "source", "agent_id", "include_scopes"})
    lenient = frozenset({"org", "project", "type", "agent_id"})
    objects = frozenset({"metadata"})

    min_confidence: Annotated[
        float | None,
        Field(ge=0, le=1, allow_inf_nan=False, description="At least this stored confidence, before decay."),
    ] = None
    max_confidence: Annotated[
        float | None,
        Field(ge=0, le=1, allow_inf_nan=False, description="At most this stored confidence, before decay."),
    ] = None


class SessionQuery(QueryString):
    """Names a session: the agent's session memories of it are included."""

    session_id: Session | None = None
