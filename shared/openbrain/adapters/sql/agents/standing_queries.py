"""Standing queries, numbered by change under the lock of the workspace's counter, so that a reader that continues after
a number misses none."""

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, delete, func, insert, select, tuple_, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import among, chunks, first_of, insert_missing
from openbrain.adapters.sql.schema.agent_tables import (
    LIVE_QUERY,
    mailboxes,
    messages,
    standing_queries,
    standing_query_counters,
    standing_query_vectors,
    standing_replays,
    standing_webhooks,
)
from openbrain.adapters.sql.schema.column_types import to_bytes, to_vector
from openbrain.adapters.sql.schema.tables import OPEN_WORKSPACE, workspaces
from openbrain.domain import limits
from openbrain.domain.access.visibility import Criteria, Viewer
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.memory import MemoryType, Scope
from openbrain.ports.cleaning import ERASED
from openbrain.ports.subscriptions import QueryWebhook, Replay, StandingQuery


class SqlStandingQueries(TimedPart):
    """`ports.subscriptions.StandingQueries`."""

    async def add_query(
        self, query: StandingQuery, vectors: Mapping[str, "array[float]"], webhook: QueryWebhook | None = None
    ) -> StandingQuery:
        return await self._write(_add, query, vectors, webhook)

    async def query(self, viewer: Viewer, query_id: str) -> StandingQuery | None:
        return await self._read(_one, viewer, query_id)

    async def queries(
        self, viewer: Viewer, limit: int, after: tuple[int, str] | None = None
    ) -> Sequence[StandingQuery]:
        order = (standing_queries.c.created_at, standing_queries.c.id)
        query = select(standing_queries).where(*_own_queries(viewer)).order_by(*order).limit(limit)
        if after is not None:
            query = query.where(tuple_(*order) > after)
        return await self._queries(query)

    async def remove_query(self, viewer: Viewer, query_id: str) -> bool:
        return await self._done_once(_remove, viewer, query_id, self._clock.now())

    async def last_changes(self, workspace_ids: Sequence[str]) -> Mapping[str, int]:
        counters = standing_query_counters.c
        query = select(counters.workspace_id, counters.change_seq).where(
            counters.workspace_id.in_(workspace_ids), counters.queries > 0
        )
        return {row["workspace_id"]: row["change_seq"] for row in await self._rows(query)}

    async def changed_queries(self, workspace_id: str, after: int, limit: int) -> Sequence[StandingQuery]:
        table = standing_queries.c
        query = select(standing_queries).where(table.workspace_id == workspace_id, table.change_seq > after)
        return await self._queries(query.order_by(table.change_seq).limit(limit))

    async def query_vectors(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, "array[float]"]]:
        return await self._read(_vectors, ids) if ids else {}

    async def without_vector(self, model: str, limit: int) -> Sequence[StandingQuery]:
        table, vectors = standing_queries.c, standing_query_vectors.c
        has = select(vectors.query_id).where(vectors.query_id == table.id, vectors.model == model).exists()
        query = select(standing_queries).where(LIVE_QUERY, table.query.not_in(("", ERASED)), ~has)
        return await self._queries(query.order_by(table.id).limit(limit))

    async def save_query_vectors(
        self,
        model: str,
        vectors: Mapping[str, "array[float]"],
        missed: Sequence[Replay] = (),
        *,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        await self._write(_save_vectors, model, vectors, missed, texts or {})

    async def purge_queries(self, before: int, limit: int) -> int:
        old = select(standing_queries.c.id).where(standing_queries.c.deleted_at < before)
        return await self._remove(standing_queries, old.order_by(standing_queries.c.deleted_at).limit(limit))

    async def _queries(self, query: Select[Any]) -> Sequence[StandingQuery]:
        return [query_from_row(row) for row in await self._rows(query)]


def query_from_row(row: RowMapping) -> StandingQuery:
    values: dict[str, Any] = dict(row)
    orgs, criteria = values["orgs"], {key: _listed(load) for key, load in orjson.loads(values["criteria"]).items()}
    criteria["types"] = tuple(MemoryType(item) for item in criteria["types"])
    criteria["scopes"] = tuple(Scope(item) for item in criteria["scopes"])
    known = None if orgs is None else tuple(orjson.loads(orgs))
    return StandingQuery(**{**values, "orgs": known, "criteria": Criteria(**criteria)})


def _listed(value: object) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _row(query: StandingQuery) -> dict[str, Any]:
    row: dict[str, Any] = {column.name: getattr(query, column.name) for column in standing_queries.columns}
    return {**row, "orgs": _orgs(query.orgs), "criteria": orjson.dumps(asdict(query.criteria)).decode()}


def _add(
    connection: Connection,
    query: StandingQuery,
    vectors: Mapping[str, "array[float]"],
    webhook: QueryWebhook | None,
) -> StandingQuery:
    known = select(workspaces.c.id).where(workspaces.c.id == query.workspace_id, OPEN_WORKSPACE)
    # A shared lock: the workspace can't be closed meanwhile.
    if connection.scalar(known.with_for_update(read=True)) is None:
        raise NotFound("no such workspace")
    seq, count = _lock_counter(connection, query.workspace_id)
    # A retry after a lost response finds its own row.
    own = select(standing_queries).where(
        standing_queries.c.id == query.id, standing_queries.c.workspace_id == query.workspace_id
    )
    if (stored := first_of(connection, own, query_from_row)) is not None:
        return stored
    if count >= limits.WORKSPACE_SUBSCRIPTIONS:
        raise Conflict(f"this workspace has {limits.WORKSPACE_SUBSCRIPTIONS} subscriptions, the maximum: remove some")
    of_key = select(func.count()).where(standing_queries.c.key_id == query.key_id, LIVE_QUERY)
    if (connection.scalar(of_key) or 0) >= limits.KEY_SUBSCRIPTIONS:
        raise Conflict(f"this key has {limits.KEY_SUBSCRIPTIONS} subscriptions, the maximum: remove some")
    made = replace(query, change_seq=seq + 1)
    connection.execute(insert(standing_queries), _row(made))
    _put_vectors(connection, query.workspace_id, {(query.id, model): vector for model, vector in vectors.items()})
    _count(connection, query.workspace_id, made.change_seq, count + 1)
    if webhook is not None:
        _add_webhook(connection, webhook, query.agent_id)
    return made


def _add_webhook(connection: Connection, webhook: QueryWebhook, agent_id: str) -> None:
    box = and_(mailboxes.c.workspace_id == webhook.workspace_id, mailboxes.c.agent_id == agent_id)
    last = connection.scalar(select(mailboxes.c.seq).where(box)) or 0
    given = {"id": webhook.id, "workspace_id": webhook.workspace_id, "url": webhook.url, "secret": webhook.secret}
    connection.execute(insert(standing_webhooks), {**given, "cursor_seq": last})


def _one(connection: Connection, viewer: Viewer, query_id: str) -> StandingQuery | None:
    query = select(standing_queries).where(*_own_queries(viewer), standing_queries.c.id == query_id)
    return first_of(connection, query, query_from_row)


def _vectors(connection: Connection, ids: Sequence[str]) -> Mapping[str, Mapping[str, "array[float]"]]:
    table = standing_query_vectors.c
    vectors: defaultdict[str, dict[str, array[float]]] = defaultdict(dict)
    query = select(table.query_id, table.model, table.vector)
    for query_id, model, vector in among(connection, query, table.query_id, ids):
        vectors[query_id][model] = to_vector(vector)
    return vectors


def _remove(connection: Connection, viewer: Viewer, query_id: str, now: int) -> bool:
    seq, count = _lock_counter(connection, viewer.workspace_id)
    if _one(connection, viewer, query_id) is None:
        return False
    blank = {"query": "", "criteria": orjson.dumps(asdict(Criteria())).decode(), "orgs": None}
    this = standing_queries.c.id == query_id
    connection.execute(update(standing_queries).where(this).values(**blank, deleted_at=now, change_seq=seq + 1))
    connection.execute(delete(standing_query_vectors).where(standing_query_vectors.c.query_id == query_id))
    connection.execute(delete(standing_replays).where(standing_replays.c.query_id == query_id))
    connection.execute(delete(messages).where(messages.c.subscription_id == query_id))
    connection.execute(delete(standing_webhooks).where(standing_webhooks.c.id == query_id))
    _count(connection, viewer.workspace_id, seq + 1, count - 1)
    return True


def _save_vectors(
    connection: Connection,
    model: str,
    vectors: Mapping[str, "array[float]"],
    missed: Sequence[Replay],
    texts: Mapping[str, str],
) -> None:
    named = select(standing_queries.c.id, standing_queries.c.workspace_id).where(
        standing_queries.c.id.in_(sorted(vectors))
    )
    by_workspace: defaultdict[str, list[str]] = defaultdict(list)
    for query_id, workspace_id in connection.execute(named):
        by_workspace[workspace_id].append(query_id)
    done: set[str] = set()
    for workspace_id, ids in sorted(by_workspace.items()):
        living = _number_anew(connection, workspace_id, ids)
        here = [item for item, text in living.items() if texts.get(item, text) == text]
        _put_vectors(connection, workspace_id, {(item, model): vectors[item] for item in here})
        done.update(here)
    for replay in missed:
        if replay.query.id in done:
            begin_replay(connection, replay, join=True)


def forget_vectors(connection: Connection, workspace_id: str, ids: Sequence[str]) -> None:
    """Remove the vectors of queries whose text is changed, so that they are embedded again, and tell the readers. Call
    before the change: the counter is always locked first."""
    for some in chunks(list(_number_anew(connection, workspace_id, ids))):
        connection.execute(delete(standing_query_vectors).where(standing_query_vectors.c.query_id.in_(some)))


def _number_anew(connection: Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, str]:
    """Number a change of each of these queries that is live; return their texts by id."""
    seq, count = _lock_counter(connection, workspace_id)
    living = select(standing_queries.c.id, standing_queries.c.query).where(LIVE_QUERY)
    here = {row.id: row.query for row in among(connection, living, standing_queries.c.id, ids)}
    for number, query_id in enumerate(here, seq + 1):
        this = standing_queries.c.id == query_id
        connection.execute(update(standing_queries).where(this).values(change_seq=number))
    _count(connection, workspace_id, seq + len(here), count)
    return here


def begin_replay(connection: Connection, replay: Replay, *, join: bool = False) -> bool:
    """Start a replay in place of a running one; `join`: of the memories of both. False if the query was removed."""
    this = select(standing_queries.c.id).where(standing_queries.c.id == replay.query.id, LIVE_QUERY)
    # Locked: the query can't be removed meanwhile, and of two concurrent starts one replay remains.
    if connection.scalar(this.with_for_update()) is None:
        return False
    since, (at, memory_id), again = replay.since, replay.before, replay.again
    own = standing_replays.c.query_id == replay.query.id
    running = connection.execute(select(standing_replays).where(own)).one_or_none() if join else None
    if running is not None:
        since, again = min(since, running.since), again or bool(running.again)
        at, memory_id = max((at, memory_id), (running.before_at, running.before_id))
    connection.execute(delete(standing_replays).where(own))
    row = {"query_id": replay.query.id, "workspace_id": replay.query.workspace_id, "since": since}
    connection.execute(insert(standing_replays), {**row, "before_at": at, "before_id": memory_id, "again": again})
    return True


def _put_vectors(connection: Connection, workspace_id: str, vectors: Mapping[tuple[str, str], "array[float]"]) -> None:
    rows = [
        {"query_id": query_id, "model": model, "workspace_id": workspace_id, "vector": to_bytes(vector)}
        for (query_id, model), vector in vectors.items()
    ]
    if rows:
        connection.execute(insert_missing(connection, standing_query_vectors), rows)


def _lock_counter(connection: Connection, workspace_id: str) -> tuple[int, int]:
    """Lock the counter; return the number of the last change and the number of live queries."""
    counters = standing_query_counters
    first = {"workspace_id": workspace_id, "change_seq": 0, "queries": 0}
    connection.execute(insert_missing(connection, counters), first)
    query = select(counters.c.change_seq, counters.c.queries).where(counters.c.workspace_id == workspace_id)
    row = connection.execute(query.with_for_update()).one()
    return row.change_seq, row.queries


def _count(connection: Connection, workspace_id: str, change_seq: int, queries: int) -> None:
    this = standing_query_counters.c.workspace_id == workspace_id
    connection.execute(update(standing_query_counters).where(this).values(change_seq=change_seq, queries=queries))


def _own_queries(viewer: Viewer) -> list[ColumnElement[bool]]:
    table = standing_queries.c
    own = [table.workspace_id == viewer.workspace_id, table.agent_id == viewer.agent_id, LIVE_QUERY]
    if viewer.orgs is None:
        return own
    # A query may reveal its key's orgs: a viewer limited to other orgs must not see it.
    return [*own, table.orgs == _orgs(viewer.orgs), table.without_org.is_(viewer.without_org)]


def _orgs(orgs: tuple[str, ...] | None) -> str | None:
    return None if orgs is None else orjson.dumps(sorted(orgs)).decode()
