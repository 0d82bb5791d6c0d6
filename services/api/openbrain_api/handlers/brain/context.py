"""The context that an agent reads when it starts."""

import hashlib

from openbrain.contract.brain.context import AgentContext, ContextQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden
from openbrain.domain.text.tokens import estimated_tokens
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond, to_json
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.context.budget import fitted
from openbrain_api.memories.context.fenced_text import fenced
from openbrain_api.memories.context.gathering import gathered


@Route(
    "GET",
    "/v1/brain/agent/{agent}/context",
    permission=Permission.BRAIN_READ,
    response=AgentContext,
    matched=True,
    cost=5,
)
async def agent_context(call: Call[Nothing, ContextQuery]) -> Response:
    """The context for an agent's start of work, within a budget of tokens.

    In this order: alarms, the agent's own memories, conventions, the project's decisions, plans, bugs and changes, the
    last hand-over, the agent's session, the vault, tags.
    """
    query, agent = call.query, parsing.agent_in(call.path)
    actor = call.actor.speaking_as(agent)
    if actor.agent_id != agent:
        raise Forbidden("this key does not speak for that agent: use that agent's key, or one that may act as it")
    actor.may_ask_for(query.org or "")
    viewer = await call.viewer(query.session_id, actor)
    items = await gathered(call, viewer)
    page = int(query.cursor or 1)
    chosen, following = fitted(items, query.budget_tokens, query.max_memories, page)
    text = fenced(chosen)
    content = AgentContext(
        agent_id=agent,
        org=query.org,
        project=query.project,
        session_id=query.session_id,
        items=tuple(chosen),
        count=len(chosen),
        text=text,
        tokens=estimated_tokens(text),
        left_out=len(following),
        next_cursor=str(page + 1) if following else None,
    )
    tag = f'"{hashlib.blake2b(to_json(content), digest_size=16).hexdigest()}"'
    return parsing.unless_held(call.headers, respond(content, headers={"etag": tag}))
