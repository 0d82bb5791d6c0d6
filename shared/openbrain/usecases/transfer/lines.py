"""The file format of an export: NDJSON, one object per line. Written lines read back unchanged.

A header; then page by page: memories, their chains, their history, and a mark that everything so far is complete; at
the end a footer with the counts and a digest of all bytes before it, so that a truncated file is detected.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from openbrain.contract.base import CURSOR
from openbrain.domain import limits
from openbrain.domain.errors import Invalid
from openbrain.domain.events.data import MemoryId
from openbrain.domain.events.envelope import first_problem
from openbrain.domain.events.submission import (
    Agent,
    Aliases,
    Confidence,
    Metadata,
    Moment,
    Org,
    Project,
    Session,
    Source,
    Speaker,
    Tags,
    Title,
    Turn,
)
from openbrain.domain.ids import content_hash
from openbrain.domain.memory import Memory, MemoryType, Reason, Scope
from openbrain.domain.text.control_characters import cleaned_json, plain_json, plain_text, without_c1
from openbrain.domain.times import from_datetime
from openbrain.ports.store.transfer import HistoryRow, Link, StoredMemory

FORMAT = "openbrain-export"
FORMAT_VERSION = 1

Number = Annotated[int, Field(strict=True, ge=0, le=2**52)]
Counted = Annotated[int, Field(strict=True, ge=1, le=2**52)]


def _json_text(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("must be an object")  # noqa: TRY004 - pydantic wants ValueError
    try:
        return orjson.dumps(plain_json(value)).decode()
    except (orjson.JSONEncodeError, RecursionError):
        raise ValueError("must be plain JSON with finite numbers and valid text") from None


JsonText = Annotated[str | None, BeforeValidator(_json_text, json_schema_input_type=dict[str, Any] | None)]


class Line(BaseModel):
    """Base of lines. Unknown members are ignored because a later version may have more."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Header(Line):
    """The first line."""

    kind: Literal["header"]
    format: Literal["openbrain-export"]
    format_version: int
    export_id: MemoryId
    exported_at: Moment
    workspace_id: str
    whole: Annotated[bool, Field(description="Includes ended memories, history and chains.")] = False
    filters: Annotated[dict[str, Any], Field(description="The filters of the export.")] = Field(default_factory=dict)
    cursor: Annotated[str | None, Field(pattern=CURSOR, description="Where this export continues.")] = None
    part: Annotated[bool, Field(description="A part of a larger file: the footer is not checked against it.")] = False


_ERASED = ("content", "project", "speaker", "turn", "title", "aliases", "tags", "metadata", "source")
"""Members that are empty in an erased memory."""


class MemoryLine(Line):
    """One memory as stored."""

    kind: Literal["memory"]
    id: MemoryId
    content: Annotated[
        str,
        StringConstraints(max_length=limits.CONTENT_CHARS),
        AfterValidator(plain_text),
        Field(description="Absent if the memory was erased."),
    ] = ""
    type: MemoryType
    memory_scope: Scope
    org: Org | None = None
    project: Project | None = None
    agent_id: Agent | None = None
    session_id: Session | None = None
    turn: Turn | None = None
    speaker: Speaker | None = None
    title: Title | None = None
    aliases: Aliases = ()
    tags: Tags = ()
    metadata: Metadata = Field(default_factory=dict)
    source: Source = "manual"
    confidence: Confidence = 1.0
    supersedes_id: MemoryId | None = None
    identity: Annotated[
        str,
        StringConstraints(pattern=r"^([0-9a-f]{64})?$"),
        Field(description="The identity hash of a turn, which is stored only once."),
    ] = ""
    version: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] = 1
    revision: Annotated[Counted, Field(description="Present in older exports.")] = 1
    occurred_at: Moment
    confirmed_at: Moment
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None = None
    archived_at: Moment | None = None
    deleted_at: Moment | None = None
    reason: Reason | None = None
    embed: bool = True
    allow_duplicate: bool = False
    vector: Annotated[
        tuple[FiniteFloat, ...] | None,
        Field(
            max_length=limits.VECTOR_NUMBERS,
            description="The content's vector by `vector_model`. An admin's import uses it if the index has this.",
        ),
    ] = None
    vector_model: Annotated[str, StringConstraints(max_length=limits.NAME_CHARS), AfterValidator(plain_text)] = ""
    passages_high: Annotated[int, Field(strict=True, ge=0, le=2**20, description="Present in older exports.")] = 0

    def kept(self, workspace_id: str, now: int) -> StoredMemory:
        """Return the memory as a row of this workspace, written at `now` (microseconds). Raise `Invalid` like `check`.

        The time is used as the revision, so that an index accepts it even if it remembers another revision or a
        tombstone of this memory.
        """
        self.check()
        erased = self.reason is Reason.ERASED
        memory = Memory(
            id=self.id,
            workspace_id=workspace_id,
            content=self.content,
            type=self.type,
            memory_scope=self.memory_scope,
            org=self.org or "",
            project=self.project or "",
            agent_id=self.agent_id or "",
            session_id=self.session_id or "",
            turn=self.turn,
            speaker=self.speaker or "",
            title=self.title or "",
            aliases=self.aliases,
            tags=self.tags,
            metadata=self.metadata,
            source="" if erased else self.source,
            confidence=self.confidence,
            supersedes_id=self.supersedes_id,
            identity=self.identity,
            version=self.version,
            revision=max(self.revision + 1, now),
            content_hash="" if erased else content_hash(self.content),
            occurred_at=from_datetime(self.occurred_at),
            confirmed_at=from_datetime(self.confirmed_at),
            created_at=from_datetime(self.created_at),
            updated_at=from_datetime(self.updated_at),
            expires_at=_micros(self.expires_at),
            archived_at=_micros(self.archived_at),
            deleted_at=_micros(self.deleted_at),
            reason=self.reason,
            passages_high=self.passages_high,
            wants_vector=self.embed,
        )
        return StoredMemory(memory, not (self.ended or self.allow_duplicate))

    def check(self) -> None:
        """Raise `Invalid` if a memory has no content, an erased one has any, or nobody could see it."""
        if self.reason is Reason.ERASED:
            if left := sorted(name for name in self.model_fields_set.intersection(_ERASED) if getattr(self, name)):
                raise Invalid(left[0], "must be absent: this memory was erased, and only a proof of that is kept")
        elif not self.content or not (self.ended or self.content.strip()):
            raise Invalid("content", "must not be blank")
        if self.memory_scope is Scope.SESSION and not self.session_id:
            raise Invalid("session_id", "is required for memory_scope session")

    @property
    def ended(self) -> bool:
        """True if the memory ended; one that is merely past its expiry has not ended yet."""
        return self.deleted_at is not None or self.archived_at is not None or self.reason is not None


class HistoryEntryLine(Line):
    """A line of a memory's audit."""

    kind: Literal["history"]
    memory_id: MemoryId
    version: Counted
    revision: Counted
    action: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,16}$")]
    actor: Annotated[str, StringConstraints(max_length=limits.AGENT_CHARS), AfterValidator(plain_text)]
    at: Moment
    before: JsonText = None
    after: JsonText = None
    note: Annotated[str, StringConstraints(max_length=limits.REASON_CHARS), AfterValidator(plain_text)] = ""

    def row(self) -> HistoryRow:
        """The line as a database row."""
        given = self.model_dump(exclude={"kind", "at"})
        return HistoryRow(**given, at=from_datetime(self.at))


class LineageLine(Line):
    """The child replaced the parent."""

    kind: Literal["lineage"]
    child_id: MemoryId
    parent_id: MemoryId
    relation: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,16}$")]
    created_at: Moment

    def link(self) -> Link:
        """The line as a database row."""
        at = from_datetime(self.created_at)
        return Link(child_id=self.child_id, parent_id=self.parent_id, kind=self.relation, created_at=at)


class BesideLine(Line):
    """A text stored outside memories, in an export about one agent or person; imports skip it."""

    kind: Literal["beside"]
    what: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z_]{1,16}$"),
        Field(description="message, question, feedback, standing_query, signal, halt, …"),
    ]
    data: dict[str, Any]


class Mark(Line):
    """Everything up to here is complete: an export can be continued from its cursor."""

    kind: Literal["mark"]
    cursor: Annotated[str, Field(pattern=CURSOR)]


class Footer(Line):
    """The last line: the number of lines of each kind, and the SHA-256 of all bytes before this line."""

    kind: Literal["footer"]
    memories: Number
    history: Number
    lineage: Number
    beside: Number = 0
    digest: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


LINES: tuple[type[Line], ...] = (Header, MemoryLine, HistoryEntryLine, LineageLine, BesideLine, Mark, Footer)
AnyLine = Header | MemoryLine | HistoryEntryLine | LineageLine | BesideLine | Mark | Footer
_LINES: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator="kind")])


def parse_line(raw: bytes) -> AnyLine:
    """Parse a line. Raise `Invalid` with field and limit, never with the content.

    C1 control characters, which earlier versions stored, are removed.
    """
    try:
        return _LINES.validate_json(raw)
    except ValidationError as error:
        if cleaner := _without_c1(raw):
            return parse_line(cleaner)
        field, message = first_problem(error)
        kind, _, rest = field.partition(".")
        if kind in ("header", "memory", "history", "lineage", "beside", "mark", "footer"):
            field = rest
        elif message.startswith("Invalid JSON"):
            message = "is not valid JSON in UTF-8"
        else:
            field, message = "kind", "must be memory, history, lineage, beside, mark or footer"
        raise Invalid(field, message) from None


def _without_c1(raw: bytes) -> bytes | None:
    """The line without C1 control characters; None if it has none."""
    try:
        line = orjson.loads(raw)
        cleaner = cleaned_json(line, without_c1)
    except (orjson.JSONDecodeError, RecursionError):
        return None
    return orjson.dumps(cleaner) if cleaner != line else None


def parse_header(raw: bytes) -> Header:
    """Parse the first line. Raise `Invalid` for a file of another kind or an unsupported version."""
    line = parse_line(raw)
    if not isinstance(line, Header):
        raise Invalid("kind", "the first line must be the header that an export begins with")
    if line.format_version != FORMAT_VERSION:
        raise Invalid(
            "format_version", f"{line.format_version} is not supported, only {FORMAT_VERSION}: update this server"
        )
    return line


def _micros(at: datetime | None) -> int | None:
    return None if at is None else from_datetime(at)
