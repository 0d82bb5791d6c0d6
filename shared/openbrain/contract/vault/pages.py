"""The vault: requests and responses of the routes named after the agents' client and the original's tools."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from openbrain.contract.base import Answer, Body, QueryString
from openbrain.domain import limits
from openbrain.domain.events.data import NOT_BLANK
from openbrain.domain.events.submission import Content, Metadata, Project, Tag, Tags

POST_CHARS = 4096
ATTRS = 50
Path = Annotated[str, StringConstraints(max_length=limits.PATH_CHARS)]
Attr = Annotated[str, StringConstraints(strict=True, max_length=POST_CHARS)]
Name = Annotated[str, StringConstraints(max_length=100)]


class MarkerBody(Body):
    """A lesson, milestone, decision or alarm that an agent posts."""

    type: Literal["lesson", "milestone", "signal", "decision"]
    content: Annotated[str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=POST_CHARS)]
    attrs: Annotated[
        dict[Name, Attr | int | float | bool | None],
        Field(max_length=ATTRS, description="`source`, `session_id`, for a signal `severity`, and any others."),
    ] = Field(default_factory=dict)


class InboxBody(Body):
    """A page for the vault's inbox: the next tick files it by its tags."""

    content: Content
    title: Annotated[Project | None, Field(description="If left out: the first line.")] = None
    filename: Annotated[Project | None, Field(description="Becomes a part of the page's file name.")] = None
    tags: Tags = ()


class ArtifactBody(Body):
    """A text that agents should find; it replaces the previous text of the same key."""

    key: Annotated[Project, Field(description="Its stable name.")]
    content: Content
    content_type: Tag | None = None
    producer: Tag | None = None
    metadata: Metadata | None = None


class VaultListQuery(QueryString):
    """The folder and the page of the files to list."""

    path: Annotated[Path, Field(description="The folder; '' is the whole vault.")] = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 200
    cursor: Annotated[Path | None, Field(description="The `next_cursor` of the previous page.")] = None


class VaultReadQuery(QueryString):
    """The file to read."""

    path: Annotated[Path, Field(min_length=1)]


class VaultSearchQuery(QueryString):
    """The words to search for, and the folder."""

    q: Annotated[str, StringConstraints(pattern=NOT_BLANK, max_length=500)]
    path: Annotated[Path, Field(description="The folder; '' is the whole vault.")] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class FeedEntry(Answer):
    """One page of the feed."""

    id: str
    title: str
    content: str
    priority: int
    ttl: int = Field(description="Seconds.")
    severity: str
    metadata: dict[str, Any] = Field(description="The front matter of the page.")


class Feed(Answer):
    """The entries that sessions read when they start, highest priority first. Each entry is in one of the three
    lists."""

    hot_arcs: list[FeedEntry]
    inject_blocks: list[FeedEntry]
    entries: list[FeedEntry]
    generated_at: datetime | None = Field(description="When one of its pages last changed.")
    hash: str = Field(description="Hash of its content.")
    vault_root: str = Field(description="The workspace that the vault belongs to.")
    entry_count: int


class Alarm(Answer):
    """The most severe open alarm; `active` is false if there is none."""

    active: bool
    severity: str | None
    title: str | None
    content: str | None
    hash: str | None
    last_updated: datetime | None
    vault_path: str | None


class MarkerWritten(Answer):
    """The location of a written marker."""

    ok: Literal[True]
    idempotency_key: str
    body_hash: str
    vault_path: str
    action: Literal["created", "appended", "unchanged"]
    marker_type: str
    written_bytes: int
    idempotent_replay: bool = Field(description="Whether the same request had already written it.")
    signal_id: str | None = Field(description="The signal that it raised.")


class PageWritten(Answer):
    """A page written to the vault's inbox."""

    ok: Literal[True]
    vault_path: str
    written_bytes: int
    idempotent_replay: bool


class Ingested(Answer):
    """The result of storing a message and its files."""

    batch_id: str
    obsidian_path: str
    vault_paths: list[str]
    semantic_text_preview: str
    errors: list[str]
    title: str
    tags: list[str]
    idempotent_replay: bool


class ArtifactIndexed(Answer):
    """The memory in which an artifact is stored."""

    ok: Literal[True]
    key: str
    id: str
    duplicate: bool


class VaultFile(Answer):
    """One file."""

    path: str
    size: int = Field(description="Bytes.")
    modified_at: datetime


class VaultList(Answer):
    """A page of files, by name."""

    path: str
    files: list[VaultFile]
    count: int
    next_cursor: str | None


class VaultPage(VaultFile):
    """A file with its text."""

    content: str
    sha256: str


class VaultHit(Answer):
    """A page that contains all words, and its first line with one of them."""

    path: str
    line: int
    text: str


class VaultFound(Answer):
    """The lines found; `complete`: every page was searched."""

    results: list[VaultHit]
    count: int
    complete: bool


class DeepHealth(Answer):
    """The health of the vault's disk, the embedder and the reasoner."""

    status: Literal["ok", "degraded"]
    service: str
    checks: dict[str, str]


class PipelineFinding(Answer):
    """A problem of the vault's pipeline."""

    title: str
    since: datetime


class LastTick(Answer):
    """The tick that was requested last."""

    id: str
    state: str
    requested_at: datetime
    finished_at: datetime | None


class PipelineHealth(Answer):
    """Whether the vault is being maintained."""

    status: Literal["ok", "degraded"]
    service: str
    checks: dict[str, str] = Field(description="Each requirement: `ok`, or what is wrong with it.")
    findings: list[PipelineFinding]
    last_tick: LastTick | None
