"""Memories: frozen values and the rules that depend on values only.

Internally all times are whole microseconds since 1970 in UTC; interfaces convert them to ISO-8601.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from openbrain.domain.limits import TAGS, TITLE_CHARS

MICROSECONDS = 1_000_000
HOUR = 3600 * MICROSECONDS
DAY = 24 * HOUR


class Scope(StrEnum):
    """Who may read a memory. The order of declaration breaks ties of a recall."""

    AGENT = "agent"
    PROJECT = "project"
    SHARED = "shared"
    SESSION = "session"


class MemoryType(StrEnum):
    """The kind of knowledge; determines how fast confidence decays."""

    FACT = "fact"
    DECISION = "decision"
    OBSERVATION = "observation"
    CONVENTION = "convention"
    RESEARCH = "research"
    PLAN = "plan"
    BUG = "bug"
    ARCHITECTURE = "architecture"
    DOCUMENTATION = "documentation"
    SERVICE = "service"
    PATTERN = "pattern"
    CONTEXT = "context"
    PROCEDURE = "procedure"


class Reason(StrEnum):
    """Why a memory is no longer recallable."""

    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"
    ARCHIVED = "archived"
    EXPIRED = "expired"
    ERASED = "erased"


class Change(StrEnum):
    """What a `memory.stored` event is about."""

    CREATED = "created"
    CONTENT = "content"
    METADATA = "metadata"
    RESTORED = "restored"
    DUPLICATE = "duplicate"
    REINDEX = "reindex"


class State(StrEnum):
    """Derived from a row, never stored."""

    CREATED = "created"
    PENDING_EMBED = "pending_embed"
    INDEXED = "indexed"
    STALE = "stale"
    FAILED = "failed"
    EXPIRED = "expired"
    ARCHIVED = "archived"
    DELETED = "deleted"


HALF_LIFE_DAYS: Mapping[MemoryType, float | None] = {
    MemoryType.OBSERVATION: 30.0,
    MemoryType.CONTEXT: 60.0,
    MemoryType.PLAN: 60.0,
    MemoryType.BUG: 90.0,
    MemoryType.DECISION: 180.0,
    MemoryType.RESEARCH: 180.0,
    MemoryType.FACT: 365.0,
    MemoryType.DOCUMENTATION: 365.0,
    MemoryType.SERVICE: 365.0,
    MemoryType.PATTERN: 365.0,
    MemoryType.PROCEDURE: 365.0,
    MemoryType.CONVENTION: None,
    MemoryType.ARCHITECTURE: None,
}
"""Days after which confidence is halved; None: no decay. Settings may change each."""


class Memory(NamedTuple):
    """One row. Absent strings are '' (simple to compare and index), absent times None."""

    id: str
    workspace_id: str
    content: str
    type: MemoryType
    memory_scope: Scope = Scope.PROJECT
    org: str = ""
    project: str = ""
    agent_id: str = ""
    session_id: str = ""
    turn: int | None = None
    speaker: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    source: str = "manual"
    confidence: float = 1.0
    supersedes_id: str | None = None
    version: int = 1
    revision: int = 1
    content_hash: str = ""
    identity: str = ""
    """The duplicate key of a memory that keeps it whatever its content; '' if the content is the key."""
    occurred_at: int = 0
    confirmed_at: int = 0
    created_at: int = 0
    updated_at: int = 0
    expires_at: int | None = None
    archived_at: int | None = None
    deleted_at: int | None = None
    reason: Reason | None = None
    indexed_at: int | None = None
    text_revision: int = 0
    vector_revision: int = 0
    passages_high: int = 0
    text_error: str = ""
    text_error_revision: int = 0
    vector_error: str = ""
    vector_error_revision: int = 0
    wants_vector: bool = True

    @property
    def ended(self) -> bool:
        """True if it was deleted, archived, superseded or marked as expired, according to the row without a clock."""
        return self.deleted_at is not None or self.archived_at is not None or self.reason is not None

    def alive(self, now: int) -> bool:
        """True if recall may return it at `now` (microseconds)."""
        return not self.ended and (self.expires_at is None or self.expires_at > now)

    @property
    def indexed(self) -> bool:
        """True if both indexes hold this revision (only the text index if no vector is wanted)."""
        return self.text_revision == self.revision and (not self.wants_vector or self.vector_revision == self.revision)

    @property
    def edition(self) -> str:
        """Changes with every change by users, and only then. Compared by `If-Match`."""
        ended = "" if self.reason is None else f"-{self.reason}"
        return f"{self.version}{ended}"

    def state(self, now: int) -> State:
        """The derived state: the first one that applies, in this order."""
        if self.deleted_at is not None:
            return State.DELETED
        if self.archived_at is not None:
            return State.ARCHIVED
        if self.reason is Reason.EXPIRED or (self.expires_at is not None and self.expires_at <= now):
            return State.EXPIRED
        if self.revision in (self.text_error_revision, self.vector_error_revision):
            return State.FAILED
        if self.indexed:
            return State.INDEXED
        if self.indexed_at is not None:
            return State.STALE
        if self.text_revision == self.revision:
            return State.PENDING_EMBED
        return State.CREATED

    @property
    def audience(self) -> str:
        """The readers that may find it, as one keyword that every index filter compares (see `visibility`)."""
        return audience(self.memory_scope, self.agent_id, self.session_id)


def audience(scope: Scope, agent_id: str, session_id: str) -> str:
    """The keyword for a scope: everyone of the org, one agent, or one agent within one session."""
    if scope is Scope.AGENT:
        return f"agent:{agent_id}"
    if scope is Scope.SESSION:
        return f"session:{len(agent_id)}:{agent_id}:{session_id}"
    return "*"


def effective_confidence(memory: Memory, now: int, half_life_days: Mapping[MemoryType, float | None]) -> float:
    """confidence x 0.5^(age since confirmed / half-life of the type), in 0..1."""
    half_life = half_life_days[memory.type]
    if half_life is None:
        return memory.confidence
    age = max(0, now - memory.confirmed_at)
    return float(memory.confidence * 0.5 ** (age / (half_life * DAY)))


FEEDBACK_PERIOD = DAY
_DIGITS = 6


class Verdict(StrEnum):
    """A judgement on a result of a recall."""

    USED = "used"
    IGNORED = "ignored"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRules:
    """How much `used` adds, how much the others subtract, and the limits."""

    used: float = 0.02
    ignored: float = 0.01
    wrong: float = 0.1
    floor: float = 0.1
    """Feedback does not lower confidence below this."""
    agent_day: float = 0.1
    """Limit per day and direction for one agent."""
    day: float = 0.2
    """Limit per day and direction for all agents."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Change of confidence in the last day, in the direction of the next step."""

    by_agent: float
    by_all: float


def feedback_step(verdict: Verdict, confidence: float, moved: Moved, rules: FeedbackRules) -> float:
    """The change of confidence; 0 if a limit is reached.

    Within a day, changes of a memory in one direction are limited per agent and for all agents together, and confidence
    stays within its bounds, so a flood of feedback can't push it further.
    """
    sizes = {Verdict.USED: rules.used, Verdict.IGNORED: rules.ignored, Verdict.WRONG: rules.wrong}
    up = verdict is Verdict.USED
    room = 1 - confidence if up else confidence - rules.floor
    size = min(sizes[verdict], rules.agent_day - moved.by_agent, rules.day - moved.by_all, room)
    size = round(max(0.0, size), _DIGITS)
    return size if up else -size


_HEADING = re.compile(r"\s*#{1,6}[ \t]+(?P<words>[^\n]*)")


def names_of(memory: Memory) -> tuple[str, ...]:
    """The title (or else the Markdown heading at the beginning of the content) and the other names."""
    title = memory.title or _heading(memory.content)
    return (title, *memory.aliases) if title else memory.aliases


def with_labels(tags: tuple[str, ...], labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return tags plus labels that users can't remove. If there are too many, the last of the other tags are
    dropped."""
    own = tuple(tag for tag in tags if tag not in labels)
    return (*own[: TAGS - len(labels)], *labels) if labels else tags


def _heading(content: str) -> str:
    match = _HEADING.match(content[: 2 * TITLE_CHARS])
    # Not by the pattern: it would look for the closing marks from each of many spaces.
    words = match["words"].rstrip(" \t").rstrip("#").strip() if match else ""
    return words if len(words) <= TITLE_CHARS else ""


_FIXED = ("id", "workspace_id")
_MOST = 2**53
"""Times beyond this, in microseconds, are none."""


def with_earlier(memory: Memory, values: Mapping[str, Any]) -> Memory:
    """Return the memory with values of its history. Those that no memory has are left out: the history may have been
    imported from anywhere."""
    known: dict[str, Any] = {}
    for name, given in values.items():
        if name not in Memory._fields or name in _FIXED:
            continue
        try:
            value = _parser(name)(given)
        except ValueError:
            continue
        if not isinstance(value, int | float) or abs(value) < _MOST:
            known[name] = value
    return memory._replace(**known)


@cache
def _parser(name: str) -> Any:
    from pydantic import TypeAdapter  # late: not everything that knows memories parses them

    return TypeAdapter(get_type_hints(Memory)[name]).validate_python
