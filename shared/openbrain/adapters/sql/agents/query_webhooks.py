"""Webhooks of standing queries, and the cursor of each in its agent's inbox."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, or_, select, update

from openbrain.adapters.sql.agents.matches import of_open_keys
from openbrain.adapters.sql.agents.standing_queries import query_from_row
from openbrain.adapters.sql.engine.database import Part
from openbrain.adapters.sql.engine.statements import chunks
from openbrain.adapters.sql.schema.agent_tables import mailboxes, standing_queries, standing_webhooks
from openbrain.adapters.sql.schema.column_types import ERROR_CHARS
from openbrain.domain.access.visibility import NEVER
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.subscriptions import QueryWebhook, StandingQuery

_CLOSED_PAUSE = 60 * MICROSECONDS
"""Pause before a webhook whose key is not open is checked again: the key may be replaced."""
_BOX = and_(
    mailboxes.c.workspace_id == standing_queries.c.workspace_id, mailboxes.c.agent_id == standing_queries.c.agent_id
)


class SqlQueryWebhooks(Part):
    """`ports.subscriptions.QueryWebhooks`."""

    async def webhooks_of(self, ids: Sequence[str]) -> Mapping[str, QueryWebhook]:
        return await self._read(_named, ids)

    async def due(
        self, now: int, limit: int, after: str = "", latest: int = NEVER
    ) -> Sequence[tuple[StandingQuery, QueryWebhook]]:
        ids = await self._read(_waiting, now, limit, after, max(latest, now + _CLOSED_PAUSE))
        return await self._write(_open, ids, now) if ids else []

    async def save_progress(self, webhook: QueryWebhook) -> bool:
        changed = {
            "cursor_seq": webhook.cursor,
            "attempts": webhook.attempts,
            "next_attempt_at": webhook.next_attempt_at,
            "delivered_at": webhook.delivered_at,
            "given_up": webhook.given_up,
            "error": webhook.error[:ERROR_CHARS],
        }
        table = standing_webhooks.c
        this = and_(table.id == webhook.id, table.cursor_seq <= webhook.cursor)
        return await self._change(update(standing_webhooks).where(this).values(**changed)) > 0


def _waiting(connection: Connection, now: int, limit: int, after: str, latest: int) -> Sequence[str]:
    due = or_(standing_webhooks.c.next_attempt_at <= now, standing_webhooks.c.next_attempt_at > latest)
    query = (
        select(standing_webhooks.c.id)
        .join(standing_queries, standing_queries.c.id == standing_webhooks.c.id)
        .join(mailboxes, _BOX)
        .where(due, mailboxes.c.seq > standing_webhooks.c.cursor_seq)
        .order_by(standing_webhooks.c.id <= after, standing_webhooks.c.id)
        .limit(limit)
    )
    return connection.scalars(query).all()


def _open(connection: Connection, ids: Sequence[str], now: int) -> Sequence[tuple[StandingQuery, QueryWebhook]]:
    """Return the webhooks of open keys; postpone the others, so that they block nobody."""
    open_ids = of_open_keys(connection, ids, now)
    if closed := sorted(set(ids) - open_ids):
        later = update(standing_webhooks).where(standing_webhooks.c.id.in_(closed))
        connection.execute(later.values(next_attempt_at=now + _CLOSED_PAUSE))
    webhooks = _named(connection, sorted(open_ids))
    rows = connection.execute(select(standing_queries).where(standing_queries.c.id.in_(sorted(open_ids)))).mappings()
    queries = {query.id: query for query in map(query_from_row, rows)}
    return [(queries[item], webhooks[item]) for item in ids if item in webhooks and item in queries]


def _named(connection: Connection, ids: Sequence[str]) -> dict[str, QueryWebhook]:
    webhooks: dict[str, QueryWebhook] = {}
    for some in chunks(sorted(ids)):
        rows = connection.execute(select(standing_webhooks).where(standing_webhooks.c.id.in_(some))).mappings()
        webhooks |= {row["id"]: _read(row) for row in rows}
    return webhooks


def _read(row: RowMapping) -> QueryWebhook:
    values: dict[str, Any] = dict(row)
    cursor = values.pop("cursor_seq")
    return QueryWebhook(**values, cursor=cursor)
