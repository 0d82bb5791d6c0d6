"""The journal of a transaction: history lines and events, collected while it runs and written at its end."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection

from openbrain.adapters.sql.outbox import event_bytes, match_queue, relay
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.memory_rows import json_text
from openbrain.adapters.sql.schema.tables import memory_history
from openbrain.domain.memory import Change, Memory, Reason
from openbrain.ports.store.writes import Origin
from openbrain.ports.subscriptions import QueuedMemory

_BOOKKEEPING = {
    *("id", "workspace_id", "version", "revision", "content_hash", "created_at", "updated_at", "confirmed_at"),
    *("archived_at", "deleted_at", "reason", "indexed_at", "text_revision", "vector_revision", "passages_high"),
    *("text_error", "text_error_revision", "vector_error", "vector_error_revision"),
}
PUBLIC = tuple(name for name in Memory._fields if name not in _BOOKKEEPING)
"""The fields that a user sets; the history records their changes."""
_public = attrgetter(*PUBLIC)


class Journal:
    """The lines of one transaction, all with the same time."""

    def __init__(self, now: int) -> None:
        self.now = now
        self._history: list[tuple[Any, ...]] = []
        self._announcements: list[event_bytes.Announcement] = []
        self._unmatched: list[QueuedMemory] = []

    def created(self, memory: Memory, origin: Origin) -> None:
        """Record a new row."""
        given = {name: value for name, value in zip(PUBLIC, _public(memory), strict=True) if value or value == 0}
        self._line(memory, "created", origin, after=given)
        self._stored(memory, Change.CREATED, origin)

    def duplicate(self, existing: Memory, origin: Origin) -> None:
        """Record a duplicate: an event only for a submission by stream."""
        if origin.causation_id:
            self._announcements.append(event_bytes.stored(existing, Change.DUPLICATE, origin, self.now))

    def edited(self, before: Memory, after: Memory, change: Change, origin: Origin, note: str = "") -> None:
        """Record a row changed by its users; the history keeps the fields that differ."""
        names = [name for name in PUBLIC if getattr(before, name) != getattr(after, name)]
        self._changed(before, after, names, "updated", origin, note)
        self._stored(after, change, origin)

    def cleaned(self, after: Memory, origin: Origin, note: str) -> None:
        """Record a cleaned row; its history is cleaned too, so nothing of the former text is kept."""
        self._line(after, "cleaned", origin, note=note)
        if not after.ended:
            self._stored(after, Change.CONTENT, origin)

    def confirmed(self, before: Memory, after: Memory, origin: Origin) -> None:
        """Record a confirmation; nothing that is indexed has changed."""
        self._changed(before, after, ["confirmed_at"], "confirmed", origin, "")

    def judged(self, before: Memory, after: Memory, verdict: str, origin: Origin, note: str) -> None:
        """Record feedback on a recall's result: the confidence changed by a step."""
        judged = {**_picked(after, ["confidence"]), "feedback": verdict}
        self._line(after, "feedback", origin, before=_picked(before, ["confidence"]), after=judged, note=note)
        self._announcements.append(event_bytes.stored(after, Change.METADATA, origin, self.now))

    def ended(
        self, memory: Memory, reason: Reason, origin: Origin, note: str = "", superseded_by: str | None = None
    ) -> None:
        """Record a row that left recall; it keeps its content, so the history needs no copy."""
        after = {"reason": reason.value} | ({"superseded_by": superseded_by} if superseded_by else {})
        self._line(memory, reason.value, origin, after=after, note=note)
        self._announcements.append(event_bytes.superseded(memory, reason, superseded_by, origin, self.now))
        self._match(memory)

    def restored(self, before: Memory, after: Memory, origin: Origin, note: str) -> None:
        """Record a row that is back in recall."""
        names = ["reason", "expires_at"] if before.expires_at != after.expires_at else ["reason"]
        self._changed(before, after, names, "restored", origin, note)
        self._stored(after, Change.RESTORED, origin)

    def write(self, connection: Connection) -> None:
        """Write everything collected to the transaction."""
        insert_rows(connection, memory_history, self._history)
        relay.append(connection, self._announcements)
        match_queue.enqueue(connection, self._unmatched, self.now)

    def _stored(self, memory: Memory, change: Change, origin: Origin) -> None:
        self._announcements.append(event_bytes.stored(memory, change, origin, self.now))
        if not memory.wants_vector:
            self._match(memory)

    def _match(self, memory: Memory) -> None:
        """Queue matching against standing queries, for a change without an embedding, which would trigger it."""
        self._unmatched.append(QueuedMemory(memory.id, memory.workspace_id, memory.revision, ""))

    def _changed(self, before: Memory, after: Memory, names: list[str], action: str, origin: Origin, note: str) -> None:
        self._line(after, action, origin, before=_picked(before, names), after=_picked(after, names), note=note)

    def _line(
        self,
        memory: Memory,
        action: str,
        origin: Origin,
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        note: str = "",
    ) -> None:
        self._history.append(
            (
                *(memory.id, memory.workspace_id, memory.version, memory.revision, action, origin.actor, self.now),
                None if before is None else json_text(before),
                None if after is None else json_text(after),
                note,
            )
        )


def _picked(memory: Memory, names: list[str]) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in names}
