"""Answers of the routes that the agents' client knows, and of a vault's pages."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from openbrain.contract.base import Answer


class FeedEntry(Answer):
    """One page of the feed."""

    id: str
    title: str
    content: str
    priority: int
    ttl: int = Field(description="Seconds.")
    severity: str
    metadata: dict[str, Any] = Field(description="Its front matter.")


class Feed(Answer):
    """What sessions read at their start, the highest priority first. Each entry stands in one of the three lists."""

    hot_arcs: list[FeedEntry]
    inject_blocks: list[FeedEntry]
    entries: list[FeedEntry]
    generated_at: datetime | None = Field(description="When a page of it last changed.")
    hash: str = Field(description="Of all that it says.")
    vault_root: str = Field(description="The workspace that the vault belongs to.")
    entry_count: int


class Alarm(Answer):
    """The gravest that burns, or that nothing does."""

    active: bool
    severity: str | None
    title: str | None
    content: str | None
    hash: str | None
    last_updated: datetime | None
    vault_path: str | None


class MarkerWritten(Answer):
    """Where a marker stands."""

    ok: Literal[True]
    idempotency_key: str
    body_hash: str
    vault_path: str
    action: Literal["created", "appended", "unchanged"]
    marker_type: str
    written_bytes: int
    idempotent_replay: bool = Field(description="It was written before, by the same request.")
    signal_id: str | None = Field(description="Of the signal that it raised.")


class PageWritten(Answer):
    """A page of the inbox."""

    ok: Literal[True]
    vault_path: str
    written_bytes: int
    idempotent_replay: bool


class Ingested(Answer):
    """What became of a message and its files."""

    batch_id: str
    obsidian_path: str
    vault_paths: list[str]
    semantic_text_preview: str
    errors: list[str]
    title: str
    tags: list[str]
    idempotent_replay: bool


class ArtifactIndexed(Answer):
    """The memory that an artifact became."""

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
    """Files by name."""

    path: str
    files: list[VaultFile]
    count: int
    next_cursor: str | None


class VaultPage(VaultFile):
    """A file with its text."""

    content: str
    sha256: str


class VaultHit(Answer):
    """A page that holds all words, and its first line that holds one."""

    path: str
    line: int
    text: str


class VaultFound(Answer):
    """What was found; `complete`: every page was looked at."""

    results: list[VaultHit]
    count: int
    complete: bool


class DeepHealth(Answer):
    """How the brain's parts are."""

    status: Literal["ok", "degraded"]
    service: str
    checks: dict[str, str]


class PipelineFinding(Answer):
    """Something that does not run."""

    title: str
    since: datetime


class LastTick(Answer):
    """The newest that was asked for."""

    id: str
    state: str
    requested_at: datetime
    finished_at: datetime | None


class PipelineHealth(Answer):
    """Whether the vault is kept."""

    status: Literal["ok", "degraded"]
    service: str
    checks: dict[str, str] = Field(description="What it needs: `ok`, or what is wrong with it.")
    findings: list[PipelineFinding]
    last_tick: LastTick | None
