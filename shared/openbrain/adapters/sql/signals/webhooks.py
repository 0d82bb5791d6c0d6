"""Webhooks, their cursors, and their dead letters."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Update,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from openbrain.adapters.sql.engine.database import Part, TimedPart
from openbrain.adapters.sql.engine.statements import first_of, insert_missing
from openbrain.adapters.sql.schema.column_types import ERROR_CHARS
from openbrain.adapters.sql.schema.signal_tables import webhook_dead_letters as letters
from openbrain.adapters.sql.schema.signal_tables import webhooks
from openbrain.adapters.sql.schema.tables import OPEN_WORKSPACE, workspaces
from openbrain.adapters.sql.signals.rows import remove_rows
from openbrain.domain.access.visibility import NEVER
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.signals.values import SEVERITIES
from openbrain.ports.store.webhooks import Webhook, WebhookDeadLetter


class SqlWebhooks(TimedPart):
    """`ports.webhooks.Webhooks`."""

    async def add_webhook(self, webhook: Webhook, most: int) -> Webhook:
        return await self._write(_add, webhook, most)

    async def webhook(self, workspace_id: str, webhook_id: str) -> Webhook | None:
        return await self._read(_one, workspace_id, webhook_id)

    async def webhooks(self, workspace_id: str, limit: int, after: tuple[int, str] | None = None) -> Sequence[Webhook]:
        order = (webhooks.c.created_at, webhooks.c.id)
        query = select(webhooks).where(webhooks.c.workspace_id == workspace_id).order_by(*order).limit(limit)
        if after is not None:
            query = query.where(tuple_(*order) > after)
        return [_webhook(row) for row in await self._rows(query)]

    async def enable_webhook(self, workspace_id: str, webhook_id: str, *, enabled: bool) -> Webhook:
        disabled_at = None if enabled else self._clock.now()
        change = (
            update(webhooks)
            .where(webhooks.c.workspace_id == workspace_id, webhooks.c.id == webhook_id)
            .where(webhooks.c.disabled_at.is_not(None) if enabled else webhooks.c.disabled_at.is_(None))
            .values(disabled_at=disabled_at, next_attempt_at=0)
        )

        def enable(connection: Connection) -> Webhook:
            connection.execute(change)
            webhook = _one(connection, workspace_id, webhook_id)
            if webhook is None:
                raise NotFound("no webhook of this workspace has this id")
            return webhook

        return await self._database.write(enable)

    async def remove_webhook(self, workspace_id: str, webhook_id: str) -> bool:
        return await self._done_once(_remove_webhook, workspace_id, webhook_id)

    async def due_webhooks(self, now: int, limit: int, after: str = "", latest: int = NEVER) -> Sequence[Webhook]:
        due = or_(webhooks.c.next_attempt_at <= now, webhooks.c.next_attempt_at > latest)
        query = (
            select(webhooks)
            .join(workspaces, workspaces.c.id == webhooks.c.workspace_id)
            .where(webhooks.c.disabled_at.is_(None), due)
            .where(workspaces.c.signal_seq > webhooks.c.cursor_seq, OPEN_WORKSPACE)
            .order_by(webhooks.c.id <= after, webhooks.c.id)
            .limit(limit)
        )
        return [_webhook(row) for row in await self._rows(query)]

    async def webhook_delivered(self, webhook_id: str, seq: int, at: int) -> bool:
        return await self._write(_delivered, webhook_id, seq, at)

    async def webhook_passed(self, webhook_id: str, seq: int) -> None:
        await self._change(_advance(webhook_id, seq, {"cursor_seq": seq, "attempts": 0, "next_attempt_at": 0}))

    async def webhook_failed(self, webhook_id: str, attempts: int, next_attempt_at: int, error: str) -> None:
        failed = {"attempts": attempts, "next_attempt_at": next_attempt_at, "error": error[:ERROR_CHARS]}
        await self._change(update(webhooks).where(webhooks.c.id == webhook_id).values(**failed))

    async def webhook_given_up(self, letter: WebhookDeadLetter) -> None:
        await self._write(_give_up, letter)


class SqlWebhookLetters(Part):
    """`ports.webhooks.WebhookLetters`."""

    async def webhook_dead_letters(
        self, workspace_id: str, webhook_id: str, limit: int, after: int = 0
    ) -> Sequence[WebhookDeadLetter]:
        following = *_letters(workspace_id, webhook_id), letters.c.seq > after
        query = select(letters).where(*following).order_by(letters.c.seq).limit(limit)
        return [WebhookDeadLetter(**row) for row in await self._rows(query)]

    async def count_webhook_dead_letters(self, workspace_id: str, webhook_id: str, seqs: Sequence[int] = ()) -> int:
        query = select(func.count()).select_from(letters).where(*_letters(workspace_id, webhook_id, seqs))
        return await self._scalar(query) or 0

    async def replay_webhook_dead_letters(self, workspace_id: str, webhook_id: str, seqs: Sequence[int] = ()) -> int:
        chosen = _letters(workspace_id, webhook_id, seqs)
        count = select(func.count()).select_from(letters).where(*chosen)

        def mark(connection: Connection) -> int:
            connection.execute(update(letters).where(*chosen).values(at=0))
            return connection.scalar(count) or 0

        return await self._database.write(mark)

    async def replayed_webhook_letters(self, limit: int) -> Sequence[tuple[Webhook, WebhookDeadLetter]]:
        key = (letters.c.webhook_id, letters.c.seq)
        waiting = select(letters).where(letters.c.at == 0).order_by(*key).limit(limit)
        live = (
            select(webhooks)
            .join(workspaces, workspaces.c.id == webhooks.c.workspace_id)
            .where(webhooks.c.disabled_at.is_(None), OPEN_WORKSPACE)
        )

        def read(connection: Connection) -> list[tuple[Webhook, WebhookDeadLetter]]:
            of_live = waiting.where(letters.c.webhook_id.in_(live.with_only_columns(webhooks.c.id)))
            dead = [WebhookDeadLetter(**row) for row in connection.execute(of_live).mappings()]
            if not dead:
                return []
            named = live.where(webhooks.c.id.in_({item.webhook_id for item in dead}))
            known = {item.id: item for item in map(_webhook, connection.execute(named).mappings())}
            return [(known[item.webhook_id], item) for item in dead if item.webhook_id in known]

        return await self._database.read(read)

    async def webhook_letter_posted(self, webhook_id: str, seq: int) -> None:
        await self._change(delete(letters).where(letters.c.webhook_id == webhook_id, letters.c.seq == seq))

    async def webhook_letter_refused(self, webhook_id: str, seq: int, error: str, at: int) -> None:
        again = {"attempts": letters.c.attempts + 1, "error": error[:ERROR_CHARS], "at": at}
        this = letters.c.webhook_id == webhook_id, letters.c.seq == seq
        await self._change(update(letters).where(*this).values(**again))

    async def purge_webhook_dead_letters(self, before: int, limit: int) -> int:
        return await self._write(remove_rows, letters, and_(letters.c.at > 0, letters.c.at < before), limit)


def _delivered(connection: Connection, webhook_id: str, seq: int, at: int) -> bool:
    done = {"cursor_seq": seq, "attempts": 0, "next_attempt_at": 0, "delivered_at": at, "error": ""}
    connection.execute(_advance(webhook_id, seq, done))
    enabled = select(webhooks.c.id).where(webhooks.c.id == webhook_id, webhooks.c.disabled_at.is_(None))
    return connection.scalar(enabled) is not None


def _give_up(connection: Connection, letter: WebhookDeadLetter) -> None:
    this = select(webhooks.c.id).where(webhooks.c.id == letter.webhook_id).with_for_update()
    if connection.scalar(this) is not None:
        error = letter.error[:ERROR_CHARS]
        connection.execute(insert_missing(connection, letters), {**asdict(letter), "error": error})
        done = {"cursor_seq": letter.seq, "attempts": 0, "next_attempt_at": 0, "error": error}
        connection.execute(_advance(letter.webhook_id, letter.seq, done))


def _advance(webhook_id: str, seq: int, values: dict[str, Any]) -> Update:
    return update(webhooks).where(webhooks.c.id == webhook_id, webhooks.c.cursor_seq < seq).values(**values)


def _add(connection: Connection, webhook: Webhook, most: int) -> Webhook:
    # Lock the workspace's row: two concurrent calls can't both add the last allowed webhook.
    query = select(workspaces.c.signal_seq).where(workspaces.c.id == webhook.workspace_id)
    seq = connection.scalar(query.where(OPEN_WORKSPACE).with_for_update())
    if seq is None:
        raise NotFound("no such workspace")
    # A retry after a lost response finds its own row.
    if (stored := _one(connection, webhook.workspace_id, webhook.id)) is not None:
        return stored
    own = select(func.count()).select_from(webhooks).where(webhooks.c.workspace_id == webhook.workspace_id)
    if (connection.scalar(own) or 0) >= most:
        raise Conflict(f"this workspace has {most} webhooks, the maximum: remove one first")
    made = replace(webhook, cursor=int(seq))
    connection.execute(insert(webhooks), _row(made))
    return made


def _one(connection: Connection, workspace_id: str, webhook_id: str) -> Webhook | None:
    query = select(webhooks).where(webhooks.c.workspace_id == workspace_id, webhooks.c.id == webhook_id)
    return first_of(connection, query, _webhook)


def _letters(workspace_id: str, webhook_id: str, seqs: Sequence[int] = ()) -> list[ColumnElement[bool]]:
    own = [letters.c.workspace_id == workspace_id, letters.c.webhook_id == webhook_id]
    return [*own, letters.c.seq.in_(seqs)] if seqs else own


def _remove_webhook(connection: Connection, workspace_id: str, webhook_id: str) -> bool:
    own = (webhooks.c.workspace_id == workspace_id, webhooks.c.id == webhook_id)
    if not connection.execute(delete(webhooks).where(*own)).rowcount:
        return False
    connection.execute(delete(letters).where(letters.c.webhook_id == webhook_id))
    return True


def _row(webhook: Webhook) -> dict[str, Any]:
    same = ("id", "workspace_id", "url", "secret", "without_org", "created_by", "created_at", "disabled_at")
    row: dict[str, Any] = {name: getattr(webhook, name) for name in (*same, "attempts", "next_attempt_at", "error")}
    orgs = None if webhook.orgs is None else orjson.dumps(webhook.orgs).decode()
    return {**row, "orgs": orgs, "min_severity": webhook.min_severity.rank, "cursor_seq": webhook.cursor}


def _webhook(row: RowMapping) -> Webhook:
    values: dict[str, Any] = dict(row)
    orgs, rank, cursor = values.pop("orgs"), values.pop("min_severity"), values.pop("cursor_seq")
    known = None if orgs is None else tuple(orjson.loads(orgs))
    return Webhook(**values, orgs=known, min_severity=SEVERITIES[rank], cursor=cursor)
