"""Asks the model once about a vault."""

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.tasks import in_thread
from openbrain.ports.models import Reasoner
from openbrain_tick.plan.deterministic import Published
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.reasoning.answer.items import Answer, Refused, from_items, from_json
from openbrain_tick.plan.reasoning.answer.markdown_answer import from_markdown
from openbrain_tick.plan.reasoning.feed_report import previous_intent
from openbrain_tick.plan.reasoning.prompt import prompt
from openbrain_tick.report import Report


async def ask(plan: Plan, published: Published, reasoner: Reasoner, prompt_chars: int, report: Report) -> Answer | None:
    """The model's answer; None if it did not answer, and the report says why."""
    with report.phase("prompt_gen") as phase:
        request = await in_thread(lambda: prompt(plan, published.signals, previous_intent(plan), prompt_chars))
        phase |= {"prompt_length": len(request.question.prompt), "left_out": dict(request.left_out)}
    with report.phase("ai") as phase:
        try:
            thought = await reasoner.reason(request.question)
        except OpenBrainError as error:
            phase["error"] = str(error)
            return None
        phase |= {"model": thought.model, "output_length": len(thought.text), "cut": thought.cut}
        phase |= {"tokens_in": thought.tokens_in, "tokens_out": thought.tokens_out}
        answer = from_json(thought.text) or from_markdown(thought.text)
        if answer is None:
            phase["error"] = "the answer is neither JSON by the schema nor the six sections" + (
                ": it was cut, raise OPENBRAIN_REASONER__ANSWER_TOKENS" if thought.cut else ""
            )
            return from_items({}, (Refused("answer", phase["error"]),))
        return answer
