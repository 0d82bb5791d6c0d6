"""What the brain's routes take. Unknown members are ignored; null means left out."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from openbrain.domain import limits
from openbrain.domain.memory import MemoryType, Scope
from openbrain.domain.submission import (
    Agent,
    Confidence,
    Content,
    Hours,
    IdempotencyKey,
    Keyword,
    Metadata,
    Moment,
    Note,
    Org,
    Project,
    Query,
    Session,
    Source,
    Submission,
    Tag,
    Tags,
)

SCOPES = 16


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _given(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: part for name, part in value.items() if part is not None}
    return value


def _asked(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: part for name, part in value.items() if part is not None and part not in ("", [])}
    return value


def _boost(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number or a list of words")  # noqa: TRY004 - pydantic wants ValueError
    return _listed(value)


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
Types = Annotated[TypeList, BeforeValidator(_listed, json_schema_input_type=MemoryType | TypeList)]
Scopes = Annotated[ScopeList, BeforeValidator(_listed, json_schema_input_type=Scope | ScopeList)]
Agents = Annotated[AgentList, BeforeValidator(_listed, json_schema_input_type=Agent | AgentList)]
Sources = Annotated[SourceList, BeforeValidator(_listed, json_schema_input_type=Source | SourceList)]
AnyTags = Annotated[TagList, BeforeValidator(_listed, json_schema_input_type=Tag | TagList)]
Keywords = Annotated[KeywordList, BeforeValidator(_listed, json_schema_input_type=Keyword | KeywordList)]
Count = Annotated[int, Field(strict=True, ge=1, le=limits.TOP_K)]
Boost = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class Body(BaseModel):
    """Base of bodies."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RememberBody(Submission):
    """One memory. The agent is the key's; `agent_id` counts where the key may act as that agent."""

    _nulls = model_validator(mode="before")(_given)


class BatchItemBody(RememberBody):
    """One memory of a batch, with an idempotency key of its own where it has one."""

    idempotency_key: IdempotencyKey | None = None


Items = Annotated[
    list[Any],
    Field(min_length=1, max_length=limits.BATCH_ITEMS),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"$ref": "#/components/schemas/BatchItemBody"},
            "minItems": 1,
            "maxItems": limits.BATCH_ITEMS,
        }
    ),
]


class BatchBody(Body):
    """Up to 500; each is judged on its own."""

    memories: Items


class FilterBody(Body):
    """Upstream's nested form; members of the same name beside it win."""

    org: Org | None = None
    project: Project | None = None
    type: Types = ()
    agent_id: Annotated[Agents, Field(description="Who wrote it.")] = ()
    source: Sources = ()
    tags: AnyTags = ()
    min_confidence: Confidence | None = None

    _empty = model_validator(mode="before")(_asked)


class RecallBody(Body):
    """A question. `agent_id` is who asks (where the key may act as that agent); who wrote it is `filter.agent_id`."""

    query: Query
    top_k: Count | None = None
    limit: Annotated[Count | None, Field(description="The same as top_k; wins over it.")] = None
    org: Org | None = None
    project: Annotated[
        Project | None, Field(description="This project, and what is shared across projects or belongs to none.")
    ] = None
    type: Types = ()
    tags: Annotated[AnyTags, Field(description="At least one of them.")] = ()
    source: Sources = ()
    include_scopes: Scopes = ()
    session_id: Annotated[Session | None, Field(description="Opens the agent's memories of that session.")] = None
    agent_id: Agent | None = None
    min_confidence: Annotated[Confidence | None, Field(description="Of the stored value, before it fades.")] = None
    since: Annotated[Moment | None, Field(description="Happened then or later.")] = None
    until: Annotated[Moment | None, Field(description="Happened before.")] = None
    keywords: Annotated[Keywords, Field(description="Words that lift a memory that holds them.")] = ()
    boost_keywords: Annotated[
        Annotated[Boost | KeywordList, Field(union_mode="left_to_right")] | None,
        BeforeValidator(_boost, json_schema_input_type=Boost | Keyword | KeywordList | None),
        Field(description="A number: what all keywords together add (0.3). A list: words that lift by half."),
    ] = None
    text_weight: Annotated[
        Confidence | None,
        Field(description="Of the keywords' score in the fusion: 1 keywords alone, 0 vectors alone."),
    ] = None
    explain: Annotated[bool, Field(strict=True, description="Tell how each score and place came about.")] = False
    filter: FilterBody = FilterBody()

    _empty = model_validator(mode="before")(_asked)


class PatchBody(Body):
    """What to change. null leaves a member as it is, but `expires_at: null` takes the expiry away."""

    content: Content | None = None
    tags: Tags | None = None
    metadata: Metadata | None = None
    type: MemoryType | None = None
    confidence: Confidence | None = None
    source: Source | None = None
    expires_in: Annotated[Hours | None, Field(description="Hours from now.")] = None
    expires_at: Moment | None = None
    confirm: Annotated[bool, Field(strict=True, description="Still true: it fades from now on.")] = False

    @model_validator(mode="after")
    def _one_expiry(self) -> "PatchBody":
        if self.expires_in is not None and "expires_at" in self.model_fields_set:
            raise ValueError("expires_in and expires_at exclude each other")
        return self


class ForgetBody(Body):
    """Why, for the audit."""

    reason: Note | None = None


class RestoreBody(Body):
    """Why, for the audit."""

    reason: Note | None = None


class QueryString(BaseModel):
    """Base of query strings. Names in `many` may come several times; those in `lenient` may be empty, as clients of the
    original send what they don't narrow by."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    many: ClassVar[frozenset[str]] = frozenset()


class SessionQuery(QueryString):
    """Opens the agent's memories of that session."""

    session_id: Session | None = None


class MemoryQuery(SessionQuery):
    """How much to tell about one memory."""

    history: Annotated[bool, Field(description="Its audit and its chain too.")] = False
    limit: Annotated[int, Field(ge=1, le=500, description="Lines of the audit of one answer.")] = 100
    cursor: Annotated[str | None, Field(pattern=r"^[0-9]{1,18}$", description="`next_cursor` of the page before.")] = (
        None
    )


class ForgetQuery(SessionQuery):
    """As the body, for clients that send none with DELETE."""

    reason: Note | None = None


CURSOR = r"^[0-9]{1,18}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
"""created_at and id of the last memory of a page."""
