"""Sessions: start, list, show, append turns, end with a hand-over."""

from typing import Any

from openbrain.contract.brain.memories import RememberBody
from openbrain.contract.brain.sessions import (
    AppendBody,
    EndBody,
    SessionAnswer,
    SessionDetail,
    SessionEnded,
    SessionList,
    SessionQueryOf,
    SessionsQuery,
    SessionStarted,
    SessionTurn,
    StartBody,
    TurnsAppended,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import NEVER
from openbrain.domain.errors import Conflict, OpenBrainError
from openbrain.domain.ids import joined_hash, uuid7
from openbrain.domain.memory import DAY, Memory, MemoryType, Scope
from openbrain.ports.agents import Policy, Session
from openbrain.ports.store.writes import Outcome, Status, Write
from openbrain.usecases.auth import Actor
from openbrain.usecases.remember import Offer, prepare
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, problem_fields, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.chains import visible_memory
from openbrain_api.memories.context.gathering import HAND_OVER, last_hand_over
from openbrain_api.memories.rendering import Json, memory_json

PROMOTED_AT_ONCE = 100


@Route(
    "POST",
    "/v1/brain/sessions",
    permission=Permission.BRAIN_WRITE,
    response=SessionStarted,
    statuses=(200, 201),
    stores=True,
)
async def start_session(call: Call[StartBody, Nothing]) -> Response:
    """Start a session, join one that the agent was invited to, or continue one.

    Emits the event `agent.session_started`. The answer holds the last hand-over of the project.
    """
    body, actor, now = call.body, _agent(call, call.body.agent_id), call.api.clock.now()
    actor.may_write_to(body.org or "")
    started = await call.api.store.sessions.start_session(
        Session(
            id=body.session_id or uuid7(now),
            workspace_id=actor.workspace_id,
            agent_id=actor.agent_id,
            org=body.org or "",
            project=body.project or "",
            policy=body.policy,
            days=body.days,
            invited=tuple(dict.fromkeys(body.agents)),
            started_at=now,
        ),
        actor.viewer(),
        call.traceparent,
    )
    call.api.committer.hint()
    session = started.session
    left = await last_hand_over(
        call.api.store, actor.viewer(session.id), session.org, session.project, call.api.clock.now()
    )
    content = {**_shown(session).model_dump(), "created": started.created, "hand_over": left and _memory(call, left)}
    return respond(content, status=201 if started.created else 200)


@Route("GET", "/v1/brain/sessions", permission=Permission.BRAIN_READ, response=SessionList)
async def sessions(call: Call[Nothing, SessionsQuery]) -> Response:
    """List the agent's sessions, newest first."""
    query = call.query
    rows = await call.api.store.sessions.sessions(
        _agent(call, query.agent_id).viewer(),
        query.limit + 1,
        parsing.position(query.cursor),
        project=query.project or "",
        open_only=query.open,
    )
    rows, following = parsing.page_of(rows, query.limit, "started_at")
    shown = tuple(_shown(row) for row in rows)
    return respond_page(SessionList(sessions=shown, count=len(shown), next_cursor=following))


@Route("GET", "/v1/brain/sessions/{id}", permission=Permission.BRAIN_READ, response=SessionDetail, problems=(404,))
async def session(call: Call[Nothing, SessionQueryOf]) -> Response:
    """One session that the agent takes part in."""
    actor = _agent(call, call.query.agent_id)
    row = await _named(call, actor)
    agents = await call.api.store.sessions.agents_of(row.workspace_id, actor.agent_id, row.id)
    return respond({**_shown(row).model_dump(), "agents": agents})


@Route(
    "POST",
    "/v1/brain/sessions/{id}/append",
    permission=Permission.BRAIN_WRITE,
    response=TurnsAppended,
    problems=(404, 409),
    cost=5,
    gated=False,
    stores=True,
)
async def append_turns(call: Call[AppendBody, Nothing]) -> Response:
    """Store turns of a session, each once; each succeeds or fails on its own."""
    actor = _agent(call, call.body.agent_id)
    row = await _named(call, actor)
    if row.ended_at is not None:
        raise Conflict("this session has ended: start it again to continue it")
    prepared = [_turn(call, actor, row, turn) for turn in call.body.turns]
    outcomes = await call.api.committer.remember_each(prepared)
    results = [_appended(turn.turn, outcome) for turn, outcome in zip(call.body.turns, outcomes, strict=True)]
    return respond({"results": results, "count": sum(outcome.memory is not None for outcome in outcomes)})


@Route(
    "POST",
    "/v1/brain/sessions/{id}/end",
    permission=Permission.BRAIN_WRITE,
    response=SessionEnded,
    problems=(404, 409),
    gated=False,
    stores=True,
)
async def end_session(call: Call[EndBody, Nothing]) -> Response:
    """End a session, and leave a hand-over to the next one.

    Ending it again with another hand-over replaces the old one.
    """
    actor = _agent(call, call.body.agent_id)
    row, store = await _named(call, actor), call.api.store.sessions
    left = await _hand_over(call, actor, row)
    promoted, after = 0, None
    while row.policy is Policy.PROMOTE:
        step = await store.promote(row, actor.viewer(), PROMOTED_AT_ONCE, call.origin(actor), after)
        promoted, after = promoted + step.rows, step.after
        if after is None:
            break
    # Without a project the next session is the owner's, who can't see the hand-over of another agent.
    passed_on = left if row.project or actor.agent_id == row.agent_id else None
    hand_over_id, now = passed_on.id if passed_on else None, call.api.clock.now()
    ended = await store.end_session(row, hand_over_id, now, call.origin(actor))
    call.api.committer.hint()
    content = {**_shown(ended).model_dump(), "hand_over": left and _memory(call, left), "promoted": promoted}
    return respond(content)


async def _hand_over(call: Call[EndBody, Nothing], actor: Actor, session: Session) -> Memory | None:
    """Store the hand-over as an observation: of the project, or of the agent if there is no project."""
    body = call.body
    if not (body.summary or body.next_steps or body.blockers):
        return None
    parts = [f"Hand-over of session {session.id} by {actor.agent_id}.", body.summary or ""]
    for heading, steps in (("Next steps", body.next_steps), ("Blockers", body.blockers)):
        parts += ["\n".join([f"{heading}:", *(f"- {step}" for step in steps)])] if steps else []
    before = await _standing(call, actor, session)
    given: Json = {
        "content": "\n\n".join(part for part in parts if part),
        "type": MemoryType.OBSERVATION,
        "memory_scope": Scope.PROJECT if session.project else Scope.AGENT,
        "org": session.org or None,
        "project": session.project or None,
        "session_id": session.id,
        "tags": (HAND_OVER,),
        "source": "session",
        "expires_in": body.expires_in,
        "supersedes": before,
    }
    outcome = await call.api.committer.remember(_write(call, actor, given))
    if outcome.memory is None:
        raise outcome.error or AssertionError
    return outcome.memory


async def _standing(call: Call[Any, Any], actor: Actor, session: Session) -> str | None:
    """The id of this session's previous hand-over, if it is active and visible to the agent."""
    if session.hand_over_id is None:
        return None
    row = await visible_memory(session.hand_over_id, actor.viewer(session.id), call.api.store.memories)
    return row.id if row is not None and row.alive(call.api.clock.now()) else None


def _turn(call: Call[Any, Any], actor: Actor, session: Session, turn: SessionTurn) -> Write | Outcome:
    given: Json = {
        **turn.model_dump(exclude={"turn"}, exclude_none=True),
        "turn": turn.turn,
        "memory_scope": Scope.SESSION,
        "session_id": session.id,
        "org": session.org or None,
        "project": session.project or None,
        "source": "session",
    }
    key = joined_hash("turn", session.agent_id, session.id, str(turn.turn))
    # The key lasts as long as the turn.
    until = NEVER if session.policy is Policy.STAY else call.api.clock.now() + session.days * DAY
    try:
        return _write(call, actor, given, key, until)
    except OpenBrainError as error:
        return Outcome(Status.REFUSED, error=error)


def _write(call: Call[Any, Any], actor: Actor, given: Json, key: str = "", key_expires_at: int = 0) -> Write:
    submission = parsing.parse_item(RememberBody, {name: value for name, value in given.items() if value is not None})
    offer = Offer(submission=submission, actor=actor, origin=call.origin(actor))
    made = prepare(offer, clock=call.api.clock, content_policy=call.api.content_policy)
    return made._replace(idempotency_key=key, idempotency_expires_at=key_expires_at)


def _appended(turn: int, outcome: Outcome) -> Json:
    problem: Json = {} if outcome.error is None else problem_fields(outcome.error)
    kept: Json = {name: problem[name] for name in ("error", "message", "field") if name in problem}
    return {"turn": turn, "id": outcome.memory and outcome.memory.id, "status": outcome.status, **kept}


def _agent(call: Call[Any, Any], named: str | None) -> Actor:
    return call.agent(named, "a session is")


async def _named(call: Call[Any, Any], actor: Actor) -> Session:
    session_id = parsing.session_in(call.path)
    return parsing.found(await call.api.store.sessions.session(actor.viewer(), session_id), "session")


def _shown(session: Session) -> SessionAnswer:
    return SessionAnswer.of(session, open=session.ended_at is None)


def _memory(call: Call[Any, Any], memory: Memory) -> Json:
    return memory_json(memory, call.api.clock.now())
