"""Verdicts of agents on results of their recalls, and a list of memories to review."""

import orjson

from openbrain.contract.brain.feedback import FeedbackBody, FeedbackGiven, FeedbackResult, Review, ReviewQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.memory import DAY, FeedbackRules
from openbrain.ports.store.memories import Feedback
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.rendering import memories_json

_RULES = ("used", "ignored", "wrong", "floor", "agent_day", "day")


@Route(
    "POST",
    "/v1/brain/recall/{id}/feedback",
    permission=Permission.BRAIN_WRITE,
    response=FeedbackGiven,
    problems=(404,),
    stores=True,
)
async def give_feedback(call: Call[FeedbackBody, Nothing]) -> Response:
    """Say which results of a recall were used, ignored or wrong.

    Each verdict changes the memory's confidence by a small step, within daily limits, and is kept in its history.
    """
    recall_id, body = parsing.id_in(call.path, "recall"), call.body
    actor = call.actor.speaking_as(body.agent_id)
    await call.api.recorder.written()
    tuning = call.api.settings.recall.tuning
    judged = await call.api.store.usage.judge(
        Feedback(
            recall_id=recall_id,
            viewer=await call.viewer(body.session_id, actor),
            origin=call.origin(actor),
            verdicts=body.verdicts,
            reason=body.reason or "",
        ),
        FeedbackRules(**{name: getattr(tuning, f"feedback_{name}") for name in _RULES}),
    )
    call.api.committer.hint()
    results = tuple(FeedbackResult.of(item) for item in judged)
    count = sum(item.status == "counted" for item in judged)
    return respond(FeedbackGiven(recall_id=recall_id, results=results, count=count))


@Route("GET", "/v1/brain/review", permission=Permission.BRAIN_READ, response=Review, cost=5)
async def review(call: Call[Nothing, ReviewQuery]) -> Response:
    """List old memories that no recall has found for a long time, oldest first."""
    query, now = call.query, call.api.clock.now()
    call.actor.may_ask_for(query.org or "")
    viewer = call.actor.viewer()
    condition = visible(viewer, Criteria(org=query.org or "", project=query.project or "", only_project=True), now)
    rows = await call.api.store.usage.unused(
        condition, now - query.days * DAY, query.limit + 1, parsing.position(query.cursor)
    )
    rows, following = parsing.page_of(rows, query.limit)
    shown = await memories_json(rows, now, call.api.chains, viewer)
    data = {"memories": orjson.Fragment(orjson.dumps([*shown.values()])), "count": len(rows)}
    return respond({**data, "next_cursor": following}, data)
