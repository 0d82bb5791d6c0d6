"""Matches of standing queries: messages without text of their own in the inboxes of the subscribed agents."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, or_, select, update

from openbrain.adapters.sql.engine.database import Part
from openbrain.adapters.sql.engine.statements import among, chunks, insert_missing
from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.schema.agent_tables import LIVE_QUERY, mailboxes, match_queue, messages, standing_queries
from openbrain.adapters.sql.schema.tables import OF_OPEN_WORKSPACE, api_keys, memories, valid_key
from openbrain.domain.ids import uuid7
from openbrain.ports.subscriptions import Match, MatchedMemory, QueuedMemory

_SUBJECT_CHARS = 255
_KEYS_REPLACED = 20
"""Maximum number of successive replacements of a key that are followed."""


class SqlMatches(Part):
    """`ports.subscriptions.Matches`."""

    async def deliver(
        self,
        workspace_id: str,
        matches: Sequence[Match],
        done: Sequence[MatchedMemory],
        now: int,
        *,
        again: bool = False,
    ) -> Sequence[Match]:
        return await self._write(_deliver, workspace_id, matches, done, now, again=again)

    async def withdraw(self, workspace_id: str, ended: Sequence[MatchedMemory], now: int) -> int:
        return await self._write(_withdraw, workspace_id, ended, now)

    async def queued(self, now: int, limit: int) -> Sequence[QueuedMemory]:
        table = match_queue.c
        query = select(table.memory_id, table.workspace_id, table.revision, table.model)
        query = query.where(table.due_at <= now).order_by(table.due_at).limit(limit)
        return [QueuedMemory(**row) for row in await self._rows(query)]


def _deliver(
    connection: Connection,
    workspace_id: str,
    matches: Sequence[Match],
    done: Sequence[MatchedMemory],
    now: int,
    *,
    again: bool,
) -> Sequence[Match]:
    current = _current(connection, {match.memory_id: match.revision for match in matches}, now)
    open_ids = of_open_keys(connection, {match.query.id for match in matches}, now)
    fresh = [match for match in matches if match.memory_id in current and match.query.id in open_ids]
    delivered: list[Match] = []
    if fresh:
        seqs = _lock_mailboxes(connection, workspace_id, {item.query.agent_id for item in fresh})
        known = _known(connection, sorted(current))
        new: list[dict[str, Any]] = []
        moved: list[dict[str, Any]] = []
        for item in fresh:
            row = known.get((item.memory_id, item.query.id))
            if again or row is None or row.withdrawn_at is not None or row.content_hash != item.content_hash:
                seqs[item.query.agent_id] += 1
                (new if row is None else moved).append(_row(item, row, seqs[item.query.agent_id], now))
                delivered.append(item)
        _store(connection, new, moved)
        _number(connection, workspace_id, seqs)
    _dequeue(connection, workspace_id, done)
    return delivered


def _current(connection: Connection, revisions: Mapping[str, int], now: int) -> set[str]:
    """Return the ids of memories that have not changed. A shared lock keeps their rows unchanged until the transaction
    ends."""
    unexpired = or_(memories.c.expires_at.is_(None), memories.c.expires_at > now)
    query = select(memories.c.id, memories.c.revision).where(LIVING, unexpired).order_by(memories.c.id)
    rows = among(connection, query.with_for_update(read=True), memories.c.id, revisions)
    return {row.id for row in rows if row.revision == revisions[row.id]}


def of_open_keys(connection: Connection, queries: Collection[str], now: int) -> set[str]:
    """Return the ids of live queries whose key is open. Queries of a replaced key move to the key that replaced it."""
    table = standing_queries.c
    query = select(table.id, table.key_id).where(LIVE_QUERY)
    keys = {row.id: row.key_id for row in among(connection, query, table.id, queries)}
    open_keys = _open(connection, set(keys.values()), now)
    for ended in set(keys.values()) - open_keys:
        if (replacement := _replacement(connection, ended, now)) is not None:
            connection.execute(update(standing_queries).where(table.key_id == ended).values(key_id=replacement))
            open_keys.add(ended)
    return {query_id for query_id, key_id in keys.items() if key_id in open_keys}


def _open(connection: Connection, ids: set[str], now: int) -> set[str]:
    query = select(api_keys.c.id).where(valid_key(now), OF_OPEN_WORKSPACE)
    return {row.id for row in among(connection, query, api_keys.c.id, ids)}


def _replacement(connection: Connection, key_id: str, now: int) -> str | None:
    """Return the open key at the end of the chain of replacements; None if a key in the chain was revoked."""
    for _ in range(_KEYS_REPLACED):
        after = select(api_keys.c.id).where(api_keys.c.replaces_id == key_id, api_keys.c.revoked_at.is_(None))
        revoked = select(api_keys.c.revoked_at).where(api_keys.c.id == key_id)
        following = connection.scalar(after)
        if following is None or connection.scalar(revoked) is not None:
            return None
        if _open(connection, {following}, now):
            return str(following)
        key_id = following
    return None


def _lock_mailboxes(connection: Connection, workspace_id: str, agents: set[str]) -> dict[str, int]:
    """Lock the mailboxes and return the last number of each."""
    seqs: dict[str, int] = {}
    for some in chunks(sorted(agents)):
        rows = [{"workspace_id": workspace_id, "agent_id": agent_id, "seq": 0} for agent_id in some]
        connection.execute(insert_missing(connection, mailboxes), rows)
        box = and_(mailboxes.c.workspace_id == workspace_id, mailboxes.c.agent_id.in_(some))
        query = select(mailboxes.c.agent_id, mailboxes.c.seq).where(box).order_by(mailboxes.c.agent_id)
        seqs.update({row.agent_id: row.seq for row in connection.execute(query.with_for_update())})
    return seqs


def _number(connection: Connection, workspace_id: str, seqs: Mapping[str, int]) -> None:
    box = and_(mailboxes.c.workspace_id == workspace_id, mailboxes.c.agent_id == bindparam("agent"))
    rows = [{"agent": agent_id, "last": seq} for agent_id, seq in sorted(seqs.items())]
    connection.execute(update(mailboxes).where(box).values(seq=bindparam("last")), rows)


def _known(connection: Connection, memory_ids: Sequence[str]) -> Mapping[tuple[str, str], Any]:
    names = ("id", "memory_id", "subscription_id", "content_hash", "withdrawn_at", "recipient")
    columns = [messages.c[name] for name in names]
    rows = among(connection, select(*columns), messages.c.memory_id, memory_ids)
    return {(row.memory_id, row.subscription_id): row for row in rows}


def _row(match: Match, known: Any, seq: int, now: int) -> dict[str, Any]:
    return {
        "id": uuid7(now) if known is None else known.id,
        "workspace_id": match.query.workspace_id,
        "recipient": match.query.agent_id,
        "seq": seq,
        "sender": "",
        "org": match.org,
        "subject": " ".join(match.query.query.split())[:_SUBJECT_CHARS],
        "content": "",
        "content_hash": match.content_hash,
        "created_at": now,
        "read_at": None,
        "subscription_id": match.query.id,
        "memory_id": match.memory_id,
        "memory_revision": match.revision,
        "similarity": match.similarity,
        "withdrawn_at": None,
    }


def _store(connection: Connection, new: Sequence[dict[str, Any]], moved: Sequence[dict[str, Any]]) -> None:
    if new:
        connection.execute(insert(messages), new)
    if moved:
        names = ("seq", "org", "content_hash", "created_at", "read_at", "memory_revision", "similarity", "withdrawn_at")
        change = update(messages).where(messages.c.id == bindparam("this"))
        values = [{"this": row["id"], **{f"new_{name}": row[name] for name in names}} for row in moved]
        connection.execute(change.values({name: bindparam(f"new_{name}") for name in names}), values)


def _withdraw(connection: Connection, workspace_id: str, ended: Sequence[MatchedMemory], now: int) -> int:
    known = [row for row in _known(connection, [item.memory_id for item in ended]).values() if not row.withdrawn_at]
    if known:
        seqs = _lock_mailboxes(connection, workspace_id, {row.recipient for row in known})
        by_agent: defaultdict[str, list[str]] = defaultdict(list)
        for row in known:
            by_agent[row.recipient].append(row.id)
        values = []
        for agent_id, ids in sorted(by_agent.items()):
            for message_id in ids:
                seqs[agent_id] += 1
                values.append({"this": message_id, "number": seqs[agent_id]})
        withdrawn = {"seq": bindparam("number"), "withdrawn_at": now, "read_at": func.coalesce(messages.c.read_at, now)}
        connection.execute(update(messages).where(messages.c.id == bindparam("this")).values(withdrawn), values)
        _number(connection, workspace_id, seqs)
    _dequeue(connection, workspace_id, ended)
    return len(known)


def _dequeue(connection: Connection, workspace_id: str, done: Sequence[MatchedMemory]) -> None:
    """Remove entries from the queue, unless the memory has changed since."""
    as_of = match_queue.c.revision <= bindparam("as_of")
    this = and_(match_queue.c.memory_id == bindparam("memory"), match_queue.c.workspace_id == workspace_id, as_of)
    if done:
        values = [{"memory": item.memory_id, "as_of": item.revision} for item in sorted(done)]
        connection.execute(delete(match_queue).where(this), values)
