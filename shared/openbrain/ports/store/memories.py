"""Reading memories, and the record of recalls and feedback."""

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
    """Increases from line to line, with gaps."""


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The supersession chain around a memory, nearest first."""

    parents: tuple[str, ...]
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRecord:
    """One answered recall."""

    id: str
    workspace_id: str
    agent_id: str
    query: str
    """'' if the settings don't keep queries."""
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
    """`repeated`: this result was judged before; `verdict` is the earlier one. `limited`: a bound keeps confidence as
    it is. `gone`: the memory has ended or the viewer does not see it."""
    confidence: float | None
    """The memory's confidence now."""


class Usage(Protocol):
    async def judge(self, feedback: Feedback, rules: FeedbackRules) -> Sequence[Judged]:
        """Count each verdict once per recall and memory, and adjust confidence by its step. Raise `NotFound` if the
        agent did not receive such a recall, `Invalid` for a memory that is not among its results."""

    async def unused(
        self, condition: Condition, before: int, limit: int, after: tuple[int, str] | None = None
    ) -> Sequence[Memory]:
        """List living memories made before `before` that no recall has returned since then, oldest first. `after`:
        created_at and id of the last memory of the previous page."""


class Past(Protocol):
    """Rows as they were in the past."""

    async def past(self, condition: Condition, at: int, limit: int, org: str = "") -> Sequence[Memory]:
        """Return memories as they were at time `at`, newest first: those that match the condition now, were made by
        then, and were not forgotten or erased since. Each says whether it was living then. With `org`, only those that
        were of that org then. Raise `Invalid` if their texts are too long together, `TryLater` if too many reads run at
        once."""


class Memories(Protocol):
    """Rows as they are now."""

    async def rows(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return rows by id, living or ended, of any workspace, for callers that apply `visibility.matches`."""

    async def indexable(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Read rows for projectors. Indexed fields are current; marks, errors and confirmation time may be outdated."""

    async def listing(
        self,
        condition: Condition,
        limit: int,
        before: tuple[int, str] | None = None,
        *,
        surest: bool = False,
        archived: bool = False,
    ) -> Sequence[Memory]:
        """List living memories (with `archived` also archived ones), newest first or by confidence. `before`:
        created_at and id of the last memory of the previous page."""

    async def keyword_hits(self, words: Sequence[str], condition: Condition, limit: int) -> Sequence[Hit]:
        """Find living memories that contain any of the words (lower case) in content, title, speaker, aliases or tags,
        scored by the share of words present. Slow fallback for when both indexes are down. Raise `TryLater` if too many
        run at once."""

    async def turns(self, ids: Sequence[str], condition: Condition, around: Collection[int] = ()) -> Mapping[str, Turn]:
        """Return, by memory id, the turns of those of `ids` that are living, match the condition and are turns of a
        session; and the turns at each offset in `around` after them (negative: before) in the same session."""

    async def of_same_session(self, memory: Memory, condition: Condition, limit: int) -> Sequence[str]:
        """Return living memories of the same session that match the condition, by distance in turns, then in time."""

    async def counts(self, fields: Sequence[str], condition: Condition, limit: int) -> Sequence[Count]:
        """Count like `TextIndex.counts`, over the newest memories only. Slow fallback for when the text index is down.
        Raise `TryLater` if too many run at once."""

    async def count_embedded(self, condition: Condition) -> int:
        """Count living memories that match the condition and whose current revision is in the vector index."""

    async def history(
        self, memory_id: str, limit: int = 1000, after: int = 0, *, moves: bool = False
    ) -> Sequence[HistoryEntry]:
        """Return audit lines, oldest first, at most `limit`, behind line number `after`; with `moves` only those that
        may have changed who sees the memory."""

    async def ancestry(self, memory_id: str, limit: int) -> Ancestry:
        """Return up to `limit` ancestors and descendants each."""

    async def record_recalls(self, recalls: Sequence[RecallRecord]) -> None:
        """Store recalls, update the use counts of their results, and announce `memory.recalled`. Known ids are
        skipped."""

    async def purge_recalls(self, before: int, limit: int, workspace_id: str | None = None) -> int:
        """Remove recalls answered before `before` (microseconds), of one workspace or all, except under a legal hold.
        Return how many."""
