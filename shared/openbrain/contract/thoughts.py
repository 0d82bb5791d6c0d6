"""Thoughts: the turns of conversations, as memories of type `context` that an agent keeps for itself."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, RootModel, StringConstraints, model_validator

from openbrain.contract.base import CURSOR, Answer, Body, PageSize, QueryString, TextLabels, judged_apart
from openbrain.contract.brain.filters import MetadataFilter, MetadataValue, without_empty, without_nulls
from openbrain.domain import limits
from openbrain.domain.events.data import MemoryId
from openbrain.domain.events.submission import (
    Agent,
    Confidence,
    IdempotencyKey,
    Metadata,
    Moment,
    Org,
    Project,
    Query,
    Session,
    Source,
    not_blank,
)
from openbrain.domain.memory import Scope
from openbrain.domain.text.control_characters import escaped

Kept = Literal[Scope.AGENT, Scope.SESSION]
ThoughtContent = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.THOUGHT_CHARS),
    AfterValidator(not_blank),
    AfterValidator(escaped),
]
"""Stored verbatim, except control characters, which are escaped as \\u001b."""
NewThoughtContent = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.CONTENT_CHARS),
    AfterValidator(not_blank),
    AfterValidator(escaped),
]
InSession = Annotated[
    Session | None, Field(description="Also include the agent's thoughts that are limited to this session.")
]
ByMetadataId = Annotated[MetadataValue | None, Field(description="The member `id` of the metadata.")]
ByMetadata = Annotated[MetadataFilter | None, Field(description="Members of the metadata that must have these values.")]


class ThoughtBody(Body):
    """One thought. A session's thought with a turn or an advancement key is stored once."""

    content: ThoughtContent
    source: Source = "manual"
    metadata: Annotated[
        Metadata,
        Field(
            description="Free-form. `sessionId` with `turn` (an integer) or with `advancementKey` (and `entry`, if "
            "several thoughts share it) identifies the turn: sent again, it is a duplicate. `role` is the "
            "speaker."
        ),
    ] = Field(default_factory=dict)
    memory_scope: Annotated[
        Kept,
        Field(
            description="agent: visible in all sessions of the agent. session: only in the one in metadata.sessionId."
        ),
    ] = Scope.AGENT
    org: Org | None = None
    project: Project | None = None
    agent_id: Annotated[
        Agent | None, Field(description="The agent to store it for; ignored unless the key's `act_as` allows it.")
    ] = None
    occurred_at: Moment | None = None

    _nulls = model_validator(mode="before")(without_nulls)

    @model_validator(mode="after")
    def _of_a_session(self) -> Self:
        if self.memory_scope is Scope.SESSION and not self.session_id:
            raise ValueError("memory_scope session needs the session in metadata.sessionId")
        return self

    @property
    def session_id(self) -> str:
        """The session in the metadata; '' if there is no valid one."""
        given = self.metadata.get("sessionId")
        given = given.strip() if isinstance(given, str) else ""
        return given if len(given) <= limits.SESSION_CHARS and given.isprintable() else ""

    @property
    def turn(self) -> int | None:
        """The position of the turn in its session."""
        given = self.metadata.get("turn")
        return given if type(given) is int and 0 <= given <= limits.TURN else None

    @property
    def identity(self) -> str:
        """The key by which a repeated turn is recognized; '' for a thought that may be added any number of times."""
        key, entry = self.metadata.get("advancementKey"), self.metadata.get("entry")
        if isinstance(key, str) and key:
            return f"key\0{self.session_id}\0{key}\0{entry if type(entry) in (int, str) else ''}"
        return f"turn\0{self.session_id}\0{self.turn}" if self.session_id and self.turn is not None else ""


class BatchThoughtBody(ThoughtBody):
    """One thought of a batch, with an optional idempotency key of its own."""

    idempotency_key: IdempotencyKey | None = None


class ThoughtBatchBody(Body):
    """Up to 500 thoughts, in order; each is stored or refused independently of the others."""

    thoughts: Annotated[
        list[Any],
        Field(min_length=1, max_length=limits.BATCH_ITEMS),
        judged_apart("BatchThoughtBody", limits.BATCH_ITEMS),
    ]


class ThoughtPatchBody(Body):
    """The members to change; null leaves a member as it is."""

    content: NewThoughtContent | None = None
    metadata: Metadata | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.content is None and self.metadata is None:
            raise ValueError("give content or metadata")
        return self


class ThoughtSearchBody(Body):
    """A search in the thoughts of an agent. Returns the nearest ones, however dissimilar they are."""

    query: Query
    limit: Annotated[int, Field(strict=True, ge=1, le=limits.TOP_K)] = limits.TOP_K_DEFAULT
    source: Source | None = None
    metadata: ByMetadata = None
    session_id: InSession = None
    project: Project | None = None
    agent_id: Annotated[
        Agent | None, Field(description="The agent to act as; ignored unless the key's `act_as` allows it.")
    ] = None
    min_similarity: Annotated[Confidence | None, Field(description="Minimum similarity of a hit.")] = None

    _empty = model_validator(mode="before")(without_empty)


class ThoughtsQuery(QueryString):
    """The filters of a list of thoughts, newest first."""

    lenient = frozenset({"source", "metadata_id"})
    objects = frozenset({"metadata"})

    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    source: Source | None = None
    metadata_id: ByMetadataId = None
    metadata: ByMetadata = None
    session_id: InSession = None
    cursor: Annotated[
        str | None, Field(pattern=CURSOR, description="The header X-Next-Cursor of the previous page.")
    ] = None


class ThoughtQuery(QueryString):
    """Names a session: the thoughts limited to it are visible too."""

    session_id: InSession = None


class EndThoughtQuery(ThoughtQuery, extra="forbid"):
    """How a thought ends."""

    erase: Annotated[bool, Field(description="Erase it: only the proof of the erasure remains.")] = False


class EndThoughtsQuery(QueryString, extra="forbid"):
    """The filters of the thoughts to end. At least one of source, metadata_id and metadata is needed."""

    selecting = frozenset({"source", "metadata_id", "metadata"})
    objects = frozenset({"metadata"})

    source: Source | None = None
    metadata_id: ByMetadataId = None
    metadata: ByMetadata = None
    session_id: InSession = None
    erase: Annotated[bool, Field(description="Erase them: only the proof of the erasure remains.")] = False

    @model_validator(mode="after")
    def _narrowed(self) -> Self:
        if self.source is None and self.metadata_id is None and self.metadata is None:
            raise ValueError("give at least one of source, metadata_id and metadata")
        return self


class ThoughtAnswer(Answer, serialize_by_alias=True, validate_by_name=True):
    """One thought. Times are ISO-8601 in UTC, under both spellings of their names."""

    id: MemoryId
    content: str
    source: str
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    created_at_camel: datetime = Field(alias="createdAt")
    updated_at_camel: datetime = Field(alias="updatedAt")
    embedded: bool = Field(description="Whether it can be found by meaning.")
    part: int | None = Field(default=None, description="If a long turn was split: the number of this part.")
    parts: int | None = Field(default=None, description="If a long turn was split: the number of its parts.")
    labels: TextLabels = ()
    score: float | None = Field(default=None, description="In a search: relevance within this answer.")
    similarity: float | None = Field(
        default=None, description="In a search: similarity to the question, 0..1, comparable between questions."
    )
    folded: tuple[str, ...] = Field(
        default=(), description="In a search: ids of near-equal thoughts that were left out in favour of this one."
    )


class ThoughtStored(ThoughtAnswer):
    """The stored thought, or the existing one if this turn was already stored."""

    duplicate: bool = Field(description="Whether this turn was already stored: then this is the existing thought.")


class ThoughtList(RootModel[tuple[ThoughtAnswer, ...]], defer_build=True):
    """Thoughts. If there is a next page, the header X-Next-Cursor has its cursor."""


class ThoughtBatchItem(Answer):
    """The result for one thought, with `error` and `message` if it was refused."""

    status: Literal["created", "duplicate", "refused"]
    id: str | None = None
    error: str | None = None
    message: str | None = None
    field: str | None = None


class ThoughtBatchStored(Answer):
    """One result per thought, in order."""

    results: tuple[ThoughtBatchItem, ...]
    count: int = Field(description="Thoughts that are now stored.")


class ThoughtEnded(Answer):
    """The thought that ended."""

    id: str
    deleted: bool
    erased: bool


class ThoughtsEnded(Answer):
    """The number of thoughts to end, and the operation that ends them; null if there are none."""

    deleted: int
    held: int = Field(0, description="Number of thoughts that match too, but stay under a legal hold.")
    operation_id: str | None = None


class ThoughtStats(Answer):
    """Counts over all thoughts that the caller can see."""

    total: int
    embedded: int = Field(description="Thoughts that can be found by meaning.")
    by_source: dict[str, int] = Field(
        description="Thoughts of each source, as counted by the index; the 100 largest sources."
    )
