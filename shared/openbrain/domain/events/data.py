"""Payloads of events. An event says that something changed; readers get the change itself from the database."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from openbrain.domain import limits
from openbrain.domain.ids import UUID
from openbrain.domain.memory import Change, Reason
from openbrain.domain.signals.values import HaltScope, HaltState, Severity, SignalState, Step
from openbrain.domain.text.control_characters import plain_line, plain_text

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=255), AfterValidator(plain_text)]
ID_PATTERN = f"^{UUID}$"
NOT_BLANK = r"\S"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
STREAM_PATTERN = r"^[a-z_]+\.[a-z_]+(\.[A-Za-z0-9_-]+)?$"
MemoryId = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
Org = Annotated[str, StringConstraints(max_length=limits.ORG_CHARS), AfterValidator(plain_line)]
Project = Annotated[str, StringConstraints(max_length=limits.PROJECT_CHARS), AfterValidator(plain_line)]
WorkspaceId = Annotated[str, StringConstraints(min_length=1, max_length=limits.WORKSPACE_CHARS)]
MOST = 2**53 - 1
"""The largest number that every reader, database and JSON parser represents exactly."""
Counted = Annotated[int, Field(ge=1, le=MOST)]
Revision = Counted
Seq = Annotated[int, Field(ge=0, le=MOST)]
"""The number of a broadcast; 0 is before the first."""


class EventData(BaseModel):
    """Base of every event's `data`."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class MemoryStored(EventData):
    """A memory was created or changed: read the row."""

    memory_id: MemoryId
    workspace_id: WorkspaceId
    version: Counted
    revision: Revision
    change: Change


class MemoryReindex(MemoryStored):
    """Like memory.stored, at low priority, for one generation or all."""

    generation: str | None = None
    re_embed: bool = False
    """True to query the model again, even if vectors of the same texts are cached."""
    model: str | None = None
    """Vectors of this model are stored: like `memory.embedded`, at low priority, for every generation of the model."""


class MemoryEmbedded(EventData):
    """The vectors of this revision are stored."""

    memory_id: MemoryId
    workspace_id: WorkspaceId
    revision: Revision
    model: Identifier
    generation: str | None = None


class MemorySuperseded(EventData):
    """A memory is no longer recallable: remove it from the indexes."""

    memory_id: MemoryId
    workspace_id: WorkspaceId
    revision: Revision
    superseded_by: MemoryId | None = None
    reason: Reason


class RecalledHit(EventData):
    """One result of a recall."""

    memory_id: MemoryId
    score: float


class MemoryRecalled(EventData):
    """A recall was answered. Contains the query's text only if settings allow it."""

    recall_id: Identifier
    workspace_id: WorkspaceId
    agent_id: str
    took_ms: Annotated[float, Field(ge=0)]
    results: tuple[RecalledHit, ...]
    query: str | None = None


class TickRequested(EventData):
    """Run the vault's phases for one slot."""

    workspace_id: WorkspaceId
    slot: Identifier
    extract: bool = False
    reason: bool = True
    dry_run: bool = False
    ai: bool = True
    job_id: MemoryId | None = None
    """The id of the row that stores the report; created if the event has none."""


class TickCompleted(EventData):
    """A tick's report."""

    workspace_id: WorkspaceId
    slot: Identifier
    job_id: MemoryId | None = None
    state: Literal["completed", "failed"] = "completed"
    error: str | None = None
    report: dict[str, object]


class SignalRaised(EventData):
    """Something is wrong."""

    workspace_id: WorkspaceId
    source: Identifier
    severity: Severity
    title: Identifier
    content: Annotated[str, StringConstraints(max_length=limits.CONTENT_CHARS), AfterValidator(plain_text)] = ""
    dedup_key: Identifier | None = None
    ttl_s: Annotated[int, Field(gt=0, le=limits.EXPIRES_HOURS * 3600)] | None = None
    halt: bool = False
    halt_scope: HaltScope | None = None
    org: Org | None = None
    project: Project | None = None


class ForeignEvent(EventData):
    """An entry of another system's stream, with its fields as text."""

    fields: dict[str, str]


class SignalAcknowledged(EventData):
    """Sent by an agent without HTTP: it saw or resolved a signal, stopped for a halt, or listens."""

    workspace_id: WorkspaceId
    agent_id: Annotated[str, StringConstraints(min_length=1, max_length=limits.AGENT_CHARS), AfterValidator(plain_line)]
    action: Literal["ack", "resolve", "seen"]
    signal_id: MemoryId | None = None
    halt_id: MemoryId | None = None
    """With ack: acknowledge this halt instead of a signal."""
    seq: Seq | None = None
    """The last broadcast received; identifies the signal if no id is given."""
    org: Org | None = None
    project: Project | None = None


class Broadcast(EventData):
    """The state of a signal and its halt, sent to every agent of a workspace. `seq` has no gaps. The last broadcast of
    a signal replaces all earlier ones."""

    seq: Counted
    signal_id: Identifier
    change: Step
    state: SignalState
    severity: Severity
    """The current severity; falls after quiet."""
    raised_severity: Severity
    """The highest severity it was raised with."""
    halt: bool
    """True while its halt is open."""
    halt_id: str | None = None
    halt_state: HaltState | None = None
    halt_scope: HaltScope | None = None
    halt_expires_at: str | None = None
    title: str
    content: str
    source: str
    org: str | None = None
    project: str | None = None
    count: Counted = 1
    """Number of raises so far."""
    storm: bool = False
    """True if it represents many signals of its source, which came too fast to broadcast one by one."""
    actor: str = ""
    """Who made the change; `time` if nobody."""
    raised_at: str
    expires_at: str | None = None


class ReindexCompleted(EventData):
    """A reindex ended."""

    workspace_id: WorkspaceId | None = None
    org: str | None = None
    project: str | None = None
    total: int
    successes: int
    failures: int
    seconds: float


class LifecycleCompleted(EventData):
    """A lifecycle job ended; its effects on memories."""

    workspace_id: WorkspaceId
    operation_id: Identifier
    job: str
    org: str | None = None
    project: str | None = None
    counts: dict[str, int]
    """Counts by action: archived, rewritten, undone, …"""
    seconds: float


class AgentSessionStarted(EventData):
    """An agent opened a session."""

    workspace_id: WorkspaceId
    agent_id: Identifier
    session_id: Identifier
    org: str | None = None
    project: str | None = None
