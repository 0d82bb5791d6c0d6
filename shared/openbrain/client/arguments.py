"""Typed keyword arguments of the client's methods."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from openbrain.domain.memory import MemoryType, Scope


class Filters(TypedDict):
    """Filters of a recall or a list. A key left out does not filter."""

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
    """Members that must have these values."""
    min_confidence: NotRequired[float]
    """Not for `forget_matching`: the most confident memories would end."""
    max_confidence: NotRequired[float]
    since: NotRequired[datetime]
    until: NotRequired[datetime]


class Asking(Filters):
    """Options of a question, described at `OpenBrain.recall`; None is the same as left out."""

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
    """The filters, and those that select what is about one person."""

    speaker: NotRequired[str | Sequence[str]]
    matching: NotRequired[str]
    """Only memories that contain this in one of their texts, or contained it earlier."""


class Lifecycled(TypedDict):
    """The memories that a lifecycle job processes. A key left out does not filter."""

    org: NotRequired[str]
    project: NotRequired[str]
    type: NotRequired[MemoryType | str | Sequence[MemoryType | str]]
    agent_id: NotRequired[str | Sequence[str]]
    """The author."""
    source: NotRequired[str | Sequence[str]]
    tags: NotRequired[Sequence[str]]
    older_than_days: NotRequired[int]


class Pruned(Lifecycled):
    """The memories to archive: those that meet every limit given."""

    max_confidence: NotRequired[float]
    max_effective_confidence: NotRequired[float]
    min_confidence: NotRequired[float]
    """Memories below it are archived."""
    min_effective_confidence: NotRequired[float]
    unrecalled_days: NotRequired[int]


class Consolidated(Lifecycled):
    threshold: NotRequired[float]
    reasoned: NotRequired[bool]


class CleanedWhat(Lifecycled):
    """Rules of a cleaning; at least one is needed."""

    strip_pii: NotRequired[bool]
    strip_secrets: NotRequired[bool]
    normalise: NotRequired[bool]


class Refiled(Lifecycled):
    """Where memories are moved to. At least one of the `to_` keys and one filter are needed; '' is no org or no
    project."""

    to_org: NotRequired[str]
    to_project: NotRequired[str]
    to_memory_scope: NotRequired[Scope | str]
    to_agent_id: NotRequired[str]


class Backfilled(Lifecycled):
    orgs: NotRequired[Mapping[str, str]]
    """By project."""
    to_org: NotRequired[str]
    """The org for projects with no known org or several."""


class Changes(TypedDict):
    """Changes of a memory. A key left out stays unchanged; `expires_at` None removes the expiry."""

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
    """Quotas of a workspace, None for unlimited, and its rule for personal data."""

    max_memories: NotRequired[int | None]
    """Living memories."""
    max_bytes: NotRequired[int | None]
    """Bytes of their contents in UTF-8."""
    personal_data: NotRequired[str]
    """off, mask, hash, refuse or label."""


class NewKey(TypedDict):
    """A new key and its rights; `orgs` left out: every org."""

    name: str
    permissions: Sequence[str]
    agent_id: NotRequired[str]
    orgs: NotRequired[Sequence[str]]
    without_org: NotRequired[bool]
    act_as: NotRequired[Sequence[str]]
    expires_in: NotRequired[int]
    rate_limit: NotRequired[int]
    """Requests per minute."""
    toolsets: NotRequired[Sequence[str]]
    """MCP tools listed to this key over HTTP in addition to core."""
    workspace_id: NotRequired[str]


class Again(TypedDict):
    """Options of a reindex. Without any, the whole index is built anew."""

    in_place: NotRequired[bool]
    workspace_id: NotRequired[str]
    org: NotRequired[str]
    project: NotRequired[str]
    since: NotRequired[datetime]
    stale: NotRequired[bool]
    """Only memories that the index is not known to contain."""
    re_embed: NotRequired[bool]
    """Compute known vectors again with the model."""
    rate: NotRequired[int]
    """Memories per second at most."""
    max_failures: NotRequired[int]
    """Let the new index serve even if this many memories could not be written."""


class NewModel(TypedDict):
    re_embed: NotRequired[bool]
    """Compute known vectors again with it."""
    rate: NotRequired[int]
    """Memories per second at most."""
    max_failures: NotRequired[int]
    """Let it serve even if this many memories can't be embedded by it."""
