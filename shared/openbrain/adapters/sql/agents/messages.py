"""Messages between agents: numbered per recipient under the lock of its mailbox."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, insert, or_, select, tuple_, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import among, chunks, insert_missing, older_than
from openbrain.adapters.sql.memories.conditions import of_orgs
from openbrain.adapters.sql.schema.agent_tables import mailboxes, messages
from openbrain.adapters.sql.schema.lifecycle_tables import without_hold
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import joined_hash
from openbrain.ports.agents import Message, Sent

_SHOWN = tuple(column for column in messages.c if column.name not in ("key_hash", "content_hash"))


class SqlMessages(TimedPart):
    """`ports.agents.Messages`."""

    async def send_message(self, message: Message, key: str, most: int) -> Sent:
        # The same key may be used concurrently with another recipient.
        busy = "others send with the same idempotency key at this moment: try again"
        return await self._write_unique(busy, _send, message, key, most)

    async def message(self, viewer: Viewer, message_id: str) -> Message | None:
        own = or_(messages.c.recipient == viewer.agent_id, messages.c.sender == viewer.agent_id)
        query = select(*_SHOWN).where(messages.c.id == message_id, own, *_within(viewer))
        return next(iter(await self._messages(query)), None)

    async def inbox(self, viewer: Viewer, limit: int, after: int = 0, *, unread: bool = False) -> Sequence[Message]:
        query = select(*_SHOWN).where(*_received(viewer), messages.c.seq > after).order_by(messages.c.seq).limit(limit)
        return await self._messages(query.where(messages.c.read_at.is_(None)) if unread else query)

    async def count_unread(self, viewer: Viewer) -> int:
        query = select(func.count()).select_from(messages).where(*_received(viewer), messages.c.read_at.is_(None))
        return await self._scalar(query) or 0

    async def last_numbers(self, boxes: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
        return await self._read(_last_numbers, boxes)

    async def conversation(
        self, viewer: Viewer, other: str, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Message]:
        """Run one query for each direction, so that both use an index."""
        me, place = viewer.agent_id, (messages.c.created_at, messages.c.id)
        by_id: dict[str, Message] = {}
        for sender, recipient in ((me, other), (other, me)):
            query = (
                select(*_SHOWN)
                .where(messages.c.sender == sender, messages.c.recipient == recipient, *_within(viewer))
                .where(messages.c.subscription_id.is_(None), older_than(before, *place))
                .order_by(*(column.desc() for column in place))
                .limit(limit)
            )
            by_id.update({item.id: item for item in await self._messages(query)})
        return sorted(by_id.values(), key=lambda item: (item.created_at, item.id), reverse=True)[:limit]

    async def mark_read(self, viewer: Viewer, ids: Sequence[str] = (), up_to: int = 0) -> int:
        now, unread = self._clock.now(), messages.c.read_at.is_(None)
        chosen: list[ColumnElement[bool]] = [messages.c.id.in_(some) for some in chunks(sorted(ids))]
        chosen += [messages.c.seq <= up_to] if up_to else []

        def mark(connection: Connection) -> int:
            change = update(messages).where(*_received(viewer), unread).values(read_at=now)
            return sum(connection.execute(change.where(some)).rowcount for some in chosen)

        return await self._database.write(mark)

    async def purge_messages(self, before: int, limit: int) -> int:
        past = messages.c.created_at < before, without_hold(messages.c.workspace_id)
        old = select(messages.c.id).where(*past).order_by(messages.c.created_at)
        return await self._remove(messages, old.limit(limit))

    async def _messages(self, query: Select[Any]) -> Sequence[Message]:
        return [Message(**row) for row in await self._rows(query)]


def _last_numbers(connection: Connection, boxes: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
    key = (mailboxes.c.workspace_id, mailboxes.c.agent_id)
    rows = among(connection, select(*key, mailboxes.c.seq), tuple_(*key), boxes)
    return {(workspace_id, agent_id): seq for workspace_id, agent_id, seq in rows}


def _within(viewer: Viewer) -> list[ColumnElement[bool]]:
    return [messages.c.workspace_id == viewer.workspace_id, of_orgs(viewer, messages.c.org)]


def _received(viewer: Viewer) -> list[ColumnElement[bool]]:
    return [*_within(viewer), messages.c.recipient == viewer.agent_id]


def _send(connection: Connection, message: Message, key: str, most: int) -> Sent:
    box = and_(mailboxes.c.workspace_id == message.workspace_id, mailboxes.c.agent_id == message.recipient)
    whose = {"workspace_id": message.workspace_id, "agent_id": message.recipient, "seq": 0}
    connection.execute(insert_missing(connection, mailboxes), whose)
    last = connection.execute(select(mailboxes.c.seq).where(box).with_for_update()).scalar_one()
    # A retry after a lost response finds its own message.
    own = select(*_SHOWN).where(messages.c.id == message.id, messages.c.workspace_id == message.workspace_id)
    if (sent := connection.execute(own).mappings().first()) is not None:
        return Sent(Message(**sent), duplicate=False)
    hashed = joined_hash(message.recipient, message.org, message.subject, message.content)
    if key and (before := _sent_before(connection, message.workspace_id, key, hashed)):
        return Sent(before, duplicate=True)
    waiting = (
        select(messages.c.id)
        .where(messages.c.workspace_id == message.workspace_id, messages.c.recipient == message.recipient)
        .where(messages.c.read_at.is_(None), messages.c.subscription_id.is_(None))
        .order_by(messages.c.seq)
        .offset(most - 1)
        .limit(1)
    )
    if connection.scalar(waiting) is not None:
        raise Conflict(f"this agent has {most} unread messages, the maximum: send when it has read some")
    made = replace(message, seq=last + 1)
    connection.execute(update(mailboxes).where(box).values(seq=made.seq))
    connection.execute(insert(messages), {**asdict(made), "key_hash": key or None, "content_hash": hashed})
    return Sent(made, duplicate=False)


def _sent_before(connection: Connection, workspace_id: str, key: str, hashed: str) -> Message | None:
    known = and_(messages.c.workspace_id == workspace_id, messages.c.key_hash == key)
    row = connection.execute(select(*_SHOWN, messages.c.content_hash).where(known)).mappings().first()
    if row is None:
        return None
    # An erased or cleaned message has no hash any more: then an equal key is enough.
    if row["content_hash"] not in ("", hashed):
        raise Conflict("this idempotency key was used for another message: take a new key for a new message")
    return Message(**{name: value for name, value in row.items() if name != "content_hash"})
