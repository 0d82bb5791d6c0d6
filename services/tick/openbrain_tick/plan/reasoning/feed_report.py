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
    """Write `intent.md` if the model gave an intent, and `last-tick-diff.md`. `score`: health of the vault, up to
    10."""
    if accepted.intent is not None:
        body = _INTENT_HEAD + clipped(plain(accepted.intent.text), BODY_CHARS - len(_INTENT_HEAD))
        put(
            plan,
            FeedFile(name="intent.md", id="operator-intent", title="Operator Intent", priority=7, ttl=1800, body=body),
        )
    done = [place.partition("[")[0] for place in outcome.done]
    lines = [
        "## Tick Diff",
        "",
        f"- Edges added: {done.count('edges')}",
        f"- Signals changed: {done.count('signals')}",
        f"- Merges executed: {done.count('merges')}",
        f"- Health score: {score}/10",
    ]
    name = "last-tick-diff"
    put(plan, FeedFile(name=f"{name}.md", id=name, title=name, priority=5, ttl=7200, body="\n".join(lines)))


def previous_intent(plan: Plan) -> str:
    """The text of the last intent on one line; '' if there is none."""
    body = document.read(plan.text(INTENT) or "", INTENT).body
    return " ".join(line for line in body.splitlines() if line.strip() and not line.startswith("#"))
