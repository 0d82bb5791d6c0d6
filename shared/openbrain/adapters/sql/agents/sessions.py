"""Sessions: their agents, hand-overs, and the promotion of their memories."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, insert, select, update

from openbrain.adapters.sql.agents.promoting import promote
from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import first_of, older_than
from openbrain.adapters.sql.memories.conditions import of_orgs
from openbrain.adapters.sql.outbox import relay
from openbrain.adapters.sql.outbox.event_bytes import session_started
from openbrain.adapters.sql.schema.agent_tables import OF_SESSION, session_agents, sessions
from openbrain.adapters.sql.writes.superseding import replace_memory
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict, NotFound, TryLater
from openbrain.domain.ids import made_at
from openbrain.ports.agents import Policy, Promoted, Session, Started
from openbrain.ports.store.writes import Origin

_SAME_ID = 100
"""Maximum sessions with the same id that are searched for an invitation."""


class SqlSessions(TimedPart):
    """`ports.agents.Sessions`."""

    async def start_session(self, session: Session, viewer: Viewer, traceparent: str | None = None) -> Started:
        busy = "others start the same session at this moment: try again"
        try:
            return await self._write_unique(busy, _start, session, viewer, traceparent)
        except TryLater:
            if await self._read(_hidden, viewer, session.id):
                hidden = "this agent has a session with this id in an org that the key may not see: take another id"
                raise Conflict(hidden) from None
            raise

    async def session(self, viewer: Viewer, session_id: str) -> Session | None:
        return await self._read(_of_id, viewer, session_id)

    async def sessions(
        self, viewer: Viewer, limit: int, before: tuple[int, str] | None = None, *, project: str = "", open_only: bool
    ) -> Sequence[Session]:
        place = (sessions.c.started_at, sessions.c.id)
        query = (
            _own_sessions(viewer)
            .where(older_than(before, *place))
            .order_by(*(item.desc() for item in place))
            .limit(limit)
        )
        if project:
            query = query.where(sessions.c.project == project)
        if open_only:
            query = query.where(sessions.c.ended_at.is_(None))
        return [_session(row) for row in await self._rows(query)]

    async def agents_of(self, workspace_id: str, agent_id: str, session_id: str) -> Sequence[str]:
        return await self._read(_agents, workspace_id, agent_id, session_id)

    async def hand_overs(self, viewer: Viewer, org: str, project: str, limit: int) -> Sequence[str]:
        hand_over, ended_at = sessions.c.hand_over_id, sessions.c.ended_at
        query = (
            select(hand_over, ended_at)
            .where(sessions.c.workspace_id == viewer.workspace_id, of_orgs(viewer, sessions.c.org))
            .where(sessions.c.project == project, hand_over.is_not(None))
            .limit(limit)
        )
        if not project:
            query = query.where(sessions.c.agent_id == viewer.agent_id)
        if org:
            query = query.where(sessions.c.org == org)
        rows = [
            *await self._rows(query.where(ended_at.is_not(None)).order_by(ended_at.desc())),
            # A session that is continued has no end, but what it left is still a hand-over.
            *await self._rows(query.where(ended_at.is_(None)).order_by(hand_over.desc())),
        ]
        rows.sort(key=lambda row: made_at(row["hand_over_id"]) if row["ended_at"] is None else row["ended_at"])
        return [row["hand_over_id"] for row in reversed(rows)][:limit]

    async def end_session(self, session: Session, hand_over_id: str | None, at: int, origin: Origin) -> Session:
        return await self._write(_end, session, hand_over_id, at, origin)

    async def promote(
        self, session: Session, viewer: Viewer, limit: int, origin: Origin, after: tuple[int, str] | None = None
    ) -> Promoted:
        return await self._write(_promote, session, viewer, limit, origin, after, self._clock.now())


def _promote(
    connection: Connection,
    session: Session,
    viewer: Viewer,
    limit: int,
    origin: Origin,
    after: tuple[int, str] | None,
    now: int,
) -> Promoted:
    agents = _agents(connection, session.workspace_id, session.agent_id, session.id)
    return promote(connection, session, viewer, agents, limit, origin, after, now)


def _end(connection: Connection, session: Session, hand_over_id: str | None, at: int, origin: Origin) -> Session:
    before = first_of(connection, select(sessions).where(_key(session)).with_for_update(), _session)
    if before is None:
        raise NotFound("no session with this id")
    left = before.hand_over_id
    if hand_over_id is not None and left not in (None, session.hand_over_id, hand_over_id):
        replace_memory(connection, str(left), hand_over_id, origin, at)
    ended = replace(before, ended_at=at, hand_over_id=hand_over_id or left)
    values = {"ended_at": at, "hand_over_id": ended.hand_over_id}
    connection.execute(update(sessions).where(_key(session)).values(**values))
    return ended


def _start(connection: Connection, session: Session, viewer: Viewer, traceparent: str | None) -> Started:
    known = _of_id(connection, viewer, session.id)
    created = False
    if known is None:
        known = _invitation(connection, session, viewer)
        created = known is None
        if known is None:
            known = session
            connection.execute(insert(sessions), _row(session))
        _join(connection, known, session.agent_id, session.started_at)
    elif known.ended_at is None:
        return Started(known, created=False)
    if known.ended_at is not None:
        connection.execute(update(sessions).where(_key(known)).values(ended_at=None))
        known = _session(connection.execute(select(sessions).where(_key(known))).mappings().one())
    relay.append(connection, [session_started(known, session.agent_id, session.started_at, traceparent)])
    return Started(known, created=created)


def _invitation(connection: Connection, session: Session, viewer: Viewer) -> Session | None:
    same = (sessions.c.workspace_id == session.workspace_id, sessions.c.id == session.id)
    query = select(sessions).where(*same, of_orgs(viewer, sessions.c.org))
    query = query.order_by(sessions.c.started_at, sessions.c.agent_id).limit(_SAME_ID)
    rows = map(_session, connection.execute(query).mappings())
    return next((item for item in rows if session.agent_id in item.invited), None)


def _join(connection: Connection, session: Session, agent_id: str, at: int) -> None:
    row = {"workspace_id": session.workspace_id, "session_id": session.id, "agent_id": agent_id}
    connection.execute(insert(session_agents), {**row, "owner": session.agent_id, "started_at": at})


def _of_id(connection: Connection, viewer: Viewer, session_id: str) -> Session | None:
    return first_of(connection, _own_sessions(viewer).where(sessions.c.id == session_id), _session)


def _hidden(connection: Connection, viewer: Viewer, session_id: str) -> bool:
    """True if the agent belongs to a session with this id, but the viewer's orgs hide it."""
    every_org = replace(viewer, orgs=None)
    return _of_id(connection, viewer, session_id) is None and _of_id(connection, every_org, session_id) is not None


def _own_sessions(viewer: Viewer) -> Select[Any]:
    mine = (session_agents.c.workspace_id == viewer.workspace_id, session_agents.c.agent_id == viewer.agent_id)
    return select(sessions).join(session_agents, OF_SESSION).where(*mine, of_orgs(viewer, sessions.c.org))


def _agents(connection: Connection, workspace_id: str, agent_id: str, session_id: str) -> Sequence[str]:
    of_it = and_(session_agents.c.workspace_id == workspace_id, session_agents.c.session_id == session_id)
    owner = select(session_agents.c.owner).where(of_it, session_agents.c.agent_id == agent_id)
    agent = connection.scalar(owner)
    if agent is None:
        return ()
    every = select(session_agents.c.agent_id).where(of_it, session_agents.c.owner == agent)
    return connection.scalars(every.order_by(session_agents.c.agent_id)).all()


def _key(session: Session) -> ColumnElement[bool]:
    return and_(
        sessions.c.workspace_id == session.workspace_id,
        sessions.c.id == session.id,
        sessions.c.agent_id == session.agent_id,
    )


def _row(session: Session) -> dict[str, Any]:
    return {**asdict(session), "policy": session.policy.value, "invited": orjson.dumps(session.invited).decode()}


def _session(row: RowMapping) -> Session:
    values: dict[str, Any] = dict(row)
    invited = tuple(orjson.loads(values.pop("invited")))
    return Session(**{**values, "policy": Policy(values["policy"]), "invited": invited})
