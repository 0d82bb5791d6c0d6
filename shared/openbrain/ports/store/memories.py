"""Memories as they are read, and what was asked of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from openbrain.domain.access.visibility import Condition, Viewer
from openbrain.domain.memory import FeedbackRules, Memory, Verdict
from openbrain.ports.index import Count, Hit
from openbrain.ports.store.writes import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of the audit."""

    memory_id: str
    version: int
    revision: int
    action: str
    actor: str
    at: int
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    reason: str
    number: int
    """Rises from line to line, with gaps."""


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The chain around a memory, nearest first."""

    parents: tuple[str, ...]
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRecord:
    """One answered recall."""

    id: str
    workspace_id: str
    agent_id: str
    query: str
    """'' where settings keep no questions."""
    results: tuple[tuple[str, float], ...]
    """Memory id and score, best first."""
    took_ms: float
    at: int


class Turn(NamedTuple):
    """The position of a memory in its session, and its length."""

    session_id: str
    number: int
    chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """An agent's verdicts on the results of one recall."""

    recall_id: str
    viewer: Viewer
    origin: Origin
    verdicts: Mapping[str, Verdict]
    """By memory id."""
    reason: str = ""


class Judged(NamedTuple):
    memory_id: str
    verdict: Verdict
    status: Literal["counted", "repeated", "limited", "gone"]
    """`repeated`: this recall's result was judged before, as `verdict` says. `limited`: a bound is reached. `gone`: it
    does not live any more, or the viewer does not see it."""
    confidence: float | None
    """The memory as it is now."""


class Usage(Protocol):
    async def judge(self, feedback: Feedback, rules: FeedbackRules) -> Sequence[Judged]:
        """Count each verdict once per recall and memory, and move confidence by its step. `NotFound` where the agent
        was given no such recall; `Invalid` for a memory that is not among its results."""

    async def unused(
        self, condition: Condition, before: int, limit: int, after: tuple[int, str] | None = None
    ) -> Sequence[Memory]:
        """Living memories made before that time that no recall has found since then, oldest first; `after` (created_at
        and id of one) lists those that follow it."""


class Past(Protocol):
    """Rows as they stood."""

    async def past(self, condition: Condition, at: int, limit: int) -> Sequence[Memory]:
        """Read memories as they were at a time (microseconds), newest first: those that meet the condition now, made by
        then, and neither forgotten nor erased since. Each tells whether it lived then. `TryLater` where too many look
        at once."""


class Memories(Protocol):
    """Rows as they stand, and which of them recalls found."""

    async def rows(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """By id, dead or alive, of any workspace: for callers that apply `visibility.matches`."""

    async def indexable(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Read rows for projectors: what is indexed is as it is now, while marks, errors and the time of the last
        confirmation may be older."""

    async def listing(
        self,
        condition: Condition,
        limit: int,
        before: tuple[int, str] | None = None,
        *,
        surest: bool = False,
        archived: bool = False,
    ) -> Sequence[Memory]:
        """Living memories, or archived ones too, newest first, or by confidence; `before` (created_at and id of one)
        lists those that follow it."""

    async def keyword_hits(self, words: Sequence[str], condition: Condition, limit: int) -> Sequence[Hit]:
        """Living memories holding any of the words (lower case), scored by the share of words present: the slow way
        for when both indexes are down. `TryLater` where too many look at once."""

    async def turns(self, ids: Sequence[str], condition: Condition, around: Collection[int] = ()) -> Mapping[str, Turn]:
        """Of those of these memories that live, are within the condition and have a turn in a session, which; and of
        what stands so many turns behind them (before them: negative) in the same session. By memory id."""

    async def of_same_session(self, memory: Memory, condition: Condition, limit: int) -> Sequence[str]:
        """Living memories of the session of this one, within the condition: by how many turns lie between, then by the
        time between."""

    async def counts(self, fields: Sequence[str], condition: Condition, limit: int) -> Sequence[Count]:
        """Count like `TextIndex.counts`, of the newest memories alone: the slow way for when the text index is down.
        `TryLater` where too many look at once."""

    async def count_embedded(self, condition: Condition) -> int:
        """The number of living memories within the condition that the vector index holds as they are."""

    async def history(self, memory_id: str, limit: int = 1000, after: int = 0) -> Sequence[HistoryEntry]:
        """Oldest first, at most `limit`; behind the line of that number."""

    async def ancestry(self, memory_id: str, limit: int) -> Ancestry:
        """Up to `limit` memories on either side."""

    async def record_recalls(self, recalls: Sequence[RecallRecord]) -> None:
        """Keep them, count the use of what they found, announce `memory.recalled`. One that is there is left alone."""

    async def purge_recalls(self, before: int, limit: int, workspace_id: str | None = None) -> int:
        """Remove those answered before that time (microseconds), of one workspace or of all, but where a legal hold
        stands; returns how many."""
