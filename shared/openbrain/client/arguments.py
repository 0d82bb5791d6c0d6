"""Typed keyword arguments of the client's methods."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from openbrain.domain.memory import MemoryType, Scope


class Filters(TypedDict):
    """Filters of a recall or a list; a key left out is no limit."""

    org: NotRequired[str]
    project: NotRequired[str]
    type: NotRequired[MemoryType | str | Sequence[MemoryType | str]]
    include_scopes: NotRequired[Sequence[Scope | str]]
    tags: NotRequired[Sequence[str]]
    source: NotRequired[str | Sequence[str]]
    author: NotRequired[str | Sequence[str]]
    """The agents that wrote it."""
    session_id: NotRequired[str]
    metadata: NotRequired[Mapping[str, str | int | bool]]
    """Members with these values."""
    min_confidence: NotRequired[float]
    """`forget_matching` has none: it would end the surest."""
    max_confidence: NotRequired[float]
    since: NotRequired[datetime]
    until: NotRequired[datetime]


class Asking(Filters):
    """A question beside its words, as `OpenBrain.recall` tells; None says nothing."""

    top_k: NotRequired[int | None]
    keywords: NotRequired[Sequence[str]]
    match: NotRequired[str]
    precision: NotRequired[Literal["exact", "balanced", "recall"] | None]
    min_similarity: NotRequired[float | None]
    fold: NotRequired[bool | None]
    around: NotRequired[int | None]
    as_of: NotRequired[str | None]
    asked_at: NotRequired[str | None]
    time_words: NotRequired[bool | None]
    order: NotRequired[Literal["relevance", "time"] | None]
    explain: NotRequired[bool]


class SubjectFilters(Filters):
    """The filters, and what is about one person."""

    speaker: NotRequired[str | Sequence[str]]
    matching: NotRequired[str]
    """A text of it, or of its history, holds this."""


class Lifecycled(TypedDict):
    """The memories that a lifecycle job goes through; a key left out is no limit."""

    org: NotRequired[str]
    project: NotRequired[str]
    type: NotRequired[MemoryType | str | Sequence[MemoryType | str]]
    agent_id: NotRequired[str | Sequence[str]]
    """The author."""
    source: NotRequired[str | Sequence[str]]
    tags: NotRequired[Sequence[str]]
    older_than_days: NotRequired[int]


class Pruned(Lifecycled):
    """Selection to archive: all that meets every limit given."""

    max_confidence: NotRequired[float]
    max_effective_confidence: NotRequired[float]
    min_confidence: NotRequired[float]
    """The lower bound of what stays."""
    min_effective_confidence: NotRequired[float]
    unrecalled_days: NotRequired[int]


class Consolidated(Lifecycled):
    threshold: NotRequired[float]
    reasoned: NotRequired[bool]


class CleanedWhat(Lifecycled):
    """Rules of a cleaning; at least one of them."""

    strip_pii: NotRequired[bool]
    strip_secrets: NotRequired[bool]
    normalise: NotRequired[bool]


class Refiled(Lifecycled):
    """The place to file memories at; at least one part of it, and one filter. '' is no org, or no project."""

    to_org: NotRequired[str]
    to_project: NotRequired[str]
    to_memory_scope: NotRequired[Scope | str]
    to_agent_id: NotRequired[str]


class Backfilled(Lifecycled):
    orgs: NotRequired[Mapping[str, str]]
    """By project."""
    to_org: NotRequired[str]
    """Of those of which no one org is known."""


class Changes(TypedDict):
    """Changes of a memory; a key left out stays. `expires_at` None takes an expiry away."""

    content: NotRequired[str]
    title: NotRequired[str]
    aliases: NotRequired[Sequence[str]]
    tags: NotRequired[Sequence[str]]
    metadata: NotRequired[Mapping[str, Any]]
    type: NotRequired[MemoryType | str]
    confidence: NotRequired[float]
    source: NotRequired[str]
    org: NotRequired[str]
    project: NotRequired[str]
    memory_scope: NotRequired[Scope | str]
    agent_id: NotRequired[str]
    expires_in: NotRequired[int]
    expires_at: NotRequired[datetime | None]
    confirm: NotRequired[bool]


class WorkspaceSettings(TypedDict):
    """Quotas of a workspace, None for any number; and the handling of personal data there."""

    max_memories: NotRequired[int | None]
    """Of living memories."""
    max_bytes: NotRequired[int | None]
    """Of their contents in UTF-8."""
    personal_data: NotRequired[str]
    """off, mask, hash, refuse or label."""


class NewKey(TypedDict):
    """Rights of a new key; `orgs` left out is every org."""

    name: str
    permissions: Sequence[str]
    agent_id: NotRequired[str]
    orgs: NotRequired[Sequence[str]]
    without_org: NotRequired[bool]
    act_as: NotRequired[Sequence[str]]
    expires_in: NotRequired[int]
    rate_limit: NotRequired[int]
    """Requests a minute."""
    toolsets: NotRequired[Sequence[str]]
    """MCP tools that are listed to it over HTTP beside the core."""
    workspace_id: NotRequired[str]


class Again(TypedDict):
    """Selection and way of a reindex; all left out: the whole index, anew."""

    in_place: NotRequired[bool]
    workspace_id: NotRequired[str]
    org: NotRequired[str]
    project: NotRequired[str]
    since: NotRequired[datetime]
    stale: NotRequired[bool]
    """Only what the index is not known to hold."""
    re_embed: NotRequired[bool]
    """Ask the model again for vectors that are known."""
    rate: NotRequired[int]
    """Memories a second at most."""
    max_failures: NotRequired[int]
    """Let it serve though so many could not be written."""


class NewModel(TypedDict):
    re_embed: NotRequired[bool]
    """Ask it again for vectors that are known."""
    rate: NotRequired[int]
    """Memories a second at most."""
    max_failures: NotRequired[int]
    """Let it serve though so many can not be embedded by it."""
