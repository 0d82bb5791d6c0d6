"""Applies an answer to a plan: judges it item by item, applies the accepted ones, and updates the feed."""

from dataclasses import dataclass
from typing import Any

from openbrain_tick.plan.deterministic import World, publish, tidy
from openbrain_tick.plan.feed.health import record
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.reasoning.accepted_items import Outcome, apply_items
from openbrain_tick.plan.reasoning.answer.items import Answer
from openbrain_tick.plan.reasoning.answer.judge import judge
from openbrain_tick.plan.reasoning.answer.known import known_of
from openbrain_tick.plan.reasoning.feed_report import put_feed_report
from openbrain_tick.report import PROBLEMS


@dataclass(frozen=True, slots=True)
class AppliedAnswer:
    accepted: Answer
    outcome: Outcome

    def result(self) -> dict[str, Any]:
        """The result for the report: applied items, and refused ones with their reasons."""
        refused = [*self.accepted.refused, *self.outcome.refused]
        return {
            "done": list(self.outcome.done),
            "refused": [{"item": item.item, "reason": item.reason} for item in refused[:PROBLEMS]],
            "refused_count": len(refused),
        }


def apply_answer(plan: Plan, answer: Answer, world: World) -> AppliedAnswer:
    """Edit the plan; items that are not accepted are refused with a reason."""
    accepted = judge(answer, known_of(plan.pages.values()))
    outcome = apply_items(accepted, plan)
    tidy(plan, world.ended)
    kept = publish(plan, world.probes, world.alarm)
    health = accepted.health
    put_feed_report(plan, accepted, outcome, kept.health.score if health is None else health.score)
    record(plan, kept.health, score=health.score if health else None, reason=health.reason if health else "")
    return AppliedAnswer(accepted, outcome)
