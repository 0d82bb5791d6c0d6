"""The feed's report of a model's answer: the operator's intent, and what the last tick changed."""

from typing import Final

from openbrain.domain.text.displayed import plain
from openbrain.vault.front_matter import document
from openbrain.vault.pages.bodies import BODY_CHARS, clipped
from openbrain_tick.plan.feed.feed_files import FOLDER, FeedFile, put
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.reasoning.accepted_items import Outcome
from openbrain_tick.plan.reasoning.answer.items import Answer

INTENT: Final = f"{FOLDER}/intent.md"
_INTENT_HEAD: Final = "## What the operator is likely doing\n\n"


def put_feed_report(plan: Plan, accepted: Answer, outcome: Outcome, score: int) -> None:
    """`intent.md` where the model gave one, and `last-tick-diff.md`. `score` is of the vault's health, 1 to 10."""
    if accepted.intent is not None:
        text = clipped(plain(accepted.intent.text), BODY_CHARS - len(_INTENT_HEAD))
        put(plan, _file("intent.md", "operator-intent", "Operator Intent", 7, 1800, _INTENT_HEAD + text))
    done = [place.partition("[")[0] for place in outcome.done]
    lines = [
        "## Tick Diff",
        "",
        f"- Edges added: {done.count('edges')}",
        f"- Signals changed: {done.count('signals')}",
        f"- Merges executed: {done.count('merges')}",
        f"- Health score: {score}/10",
    ]
    put(plan, _file("last-tick-diff.md", "last-tick-diff", "last-tick-diff", 5, 7200, "\n".join(lines)))


def previous_intent(plan: Plan) -> str:
    """The paragraph of the last intent; '' where there is none."""
    body = document.read(plan.text(INTENT) or "", INTENT).body
    return " ".join(line for line in body.splitlines() if line.strip() and not line.startswith("#"))


def _file(name: str, entry: str, title: str, priority: int, ttl: int, body: str) -> FeedFile:
    return FeedFile(name=name, id=entry, title=title, priority=priority, ttl=ttl, severity="info", body=body)
