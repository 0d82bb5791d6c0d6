"""Job `prune`: archives memories by confidence, age, or lack of recalls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from openbrain.domain.memory import DAY, Memory, MemoryType, effective_confidence
from openbrain.ports.lifecycle import Action, Change, Decide, Subject, Use
from openbrain.ports.store.operations import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRule:
    """Limits of a prune: a memory is archived if it meets all limits that are set. Times in microseconds."""

    max_confidence: float | None = None
    max_effective_confidence: float | None = None
    min_confidence: float | None = None
    """Memories below it are archived."""
    min_effective_confidence: float | None = None
    unrecalled_for: int | None = None

    @classmethod
    def of(cls, rule: Mapping[str, Any]) -> Self:
        """From the rule in an operation's request."""
        names = ("max_confidence", "max_effective_confidence", "min_confidence", "min_effective_confidence")
        days = rule.get("unrecalled_days")
        unrecalled_for = None if days is None else int(days) * DAY
        return cls(**{name: rule.get(name) for name in names}, unrecalled_for=unrecalled_for)

    def why(self, memory: Memory, use: Use, effective: float, now: int) -> str | None:
        """Why the memory is archived; None if it is kept."""
        reasons = (
            _limited("confidence", memory.confidence, self.max_confidence),
            _limited("effective confidence", effective, self.max_effective_confidence),
            _limited("confidence", memory.confidence, self.min_confidence, below=True),
            _limited("effective confidence", effective, self.min_effective_confidence, below=True),
            self._unrecalled(memory, use, now),
        )
        if "" in reasons:
            return None
        return ", ".join(reason for reason in reasons if reason) or f"{_days(now - memory.confirmed_at)} old"

    def _unrecalled(self, memory: Memory, use: Use, now: int) -> str | None:
        if self.unrecalled_for is None:
            return None
        since = max(memory.created_at, use.last_recalled_at or 0)
        if now - since < self.unrecalled_for:
            return ""
        return f"{'last recalled' if use.last_recalled_at else 'never recalled, made'} {_days(now - since)} ago"


def prune(operation: Operation, half_life_days: Mapping[MemoryType, float | None]) -> Decide:
    """The decision by the operation's rule, as of the time of its request."""
    rule, now = PruneRule.of(operation.request["rule"]), operation.created_at

    def decide(subjects: Sequence[Subject]) -> Sequence[Change]:
        judged = (
            (memory.id, rule.why(memory, use, effective_confidence(memory, now, half_life_days), now))
            for memory, use in subjects
        )
        return [
            Change(memory_id=memory_id, action=Action.ARCHIVED, why=why) for memory_id, why in judged if why is not None
        ]

    return decide


def _limited(name: str, value: float, limit: float | None, *, below: bool = False) -> str | None:
    """Why the memory is archived: its value is at most the limit, or `below` it. None: no limit; '': it is kept."""
    if limit is None:
        return None
    goes = value < limit if below else value <= limit
    return f"{name} {value:.3g} is {'below' if below else 'at most'} {limit:g}" if goes else ""


def _days(span: int) -> str:
    return f"{span // DAY} days"
