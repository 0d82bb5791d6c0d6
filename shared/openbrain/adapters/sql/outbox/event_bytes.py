"""Events about memories, encoded as the bytes that the outbox stores and the relay publishes."""

from collections.abc import Mapping, Sequence
from typing import Any

from openbrain.domain.events.data import AgentSessionStarted, EventData, MemoryRecalled, MemorySuperseded, RecalledHit
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import EMBEDDED, RECALLED, REINDEX, SESSION_STARTED, STORED, SUPERSEDED, StreamSpec
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Change, Memory, Reason
from openbrain.ports.agents import Session
from openbrain.ports.store.index_entries import Embedded
from openbrain.ports.store.memories import RecallRecord
from openbrain.ports.store.writes import Origin

Announcement = tuple[str, bytes]
"""Stream (without the settings' prefix) and body: an outbox row."""

_OURSELVES = Origin(actor="openbrain")


def stored(memory: Memory, change: Change, origin: Origin, at: int) -> Announcement:
    """Return `memory.stored` for the current row; `memory.reindex` if it may wait."""
    data = {
        "memory_id": memory.id,
        "workspace_id": memory.workspace_id,
        "version": memory.version,
        "revision": memory.revision,
        "change": change.value,
    }
    return announcement(REINDEX if origin.bulk else STORED, data, memory.id, at, origin)


def reindex(row: Sequence[Any], generation: str | None, at: int, *, model: str | None = None) -> Announcement:
    """Return `memory.reindex` for a current row (id, workspace, version, revision): for one generation, those of a
    model, or all."""
    memory_id, workspace_id, version, revision = row
    data = {
        "memory_id": memory_id,
        "workspace_id": workspace_id,
        "version": version,
        "revision": revision,
        "change": Change.REINDEX,
        "generation": generation,
        "model": model,
    }
    return announcement(REINDEX, data, memory_id, at)


def superseded(memory: Memory, reason: Reason, superseded_by: str | None, origin: Origin, at: int) -> Announcement:
    """Return `memory.superseded` for a row that has just left recall."""
    data = MemorySuperseded(
        memory_id=memory.id,
        workspace_id=memory.workspace_id,
        revision=memory.revision,
        superseded_by=superseded_by,
        reason=reason,
    )
    return announcement(SUPERSEDED, data, memory.id, at, origin)


def embedded(passages: Embedded, model: str, at: int) -> Announcement:
    """Return `memory.embedded` for a row whose passages have just been stored; `memory.reindex` if it may wait."""
    if passages.bulk:
        row = passages.memory_id, passages.workspace_id, passages.version, passages.revision
        return reindex(row, None, at, model=model)
    data = {
        "memory_id": passages.memory_id,
        "workspace_id": passages.workspace_id,
        "revision": passages.revision,
        "model": model,
    }
    return announcement(EMBEDDED, data, passages.memory_id, at, passages)


def recalled(recall: RecallRecord) -> Announcement:
    """Return `memory.recalled` for an answered recall."""
    data = MemoryRecalled(
        recall_id=recall.id,
        workspace_id=recall.workspace_id,
        agent_id=recall.agent_id,
        took_ms=recall.took_ms,
        results=tuple(RecalledHit(memory_id=memory_id, score=score) for memory_id, score in recall.results),
        query=recall.query or None,
    )
    return announcement(RECALLED, data, recall.id, recall.at)


def session_started(session: Session, agent_id: str, at: int, traceparent: str | None) -> Announcement:
    """Return `agent.session_started` for a session that an agent has just opened or joined."""
    data = AgentSessionStarted(
        workspace_id=session.workspace_id,
        agent_id=agent_id,
        session_id=session.id,
        org=session.org or None,
        project=session.project or None,
    )
    return announcement(SESSION_STARTED, data, session.id, at, Origin(actor=agent_id, traceparent=traceparent))


def announcement(
    stream: StreamSpec,
    data: EventData | Mapping[str, object],
    subject: str,
    at: int,
    origin: Origin | Embedded = _OURSELVES,
) -> Announcement:
    """Encode a new event with its cause."""
    body = encode(
        stream.name,
        data,
        event_id=uuid7(at),
        at=at,
        subject=subject,
        causation_id=origin.causation_id,
        traceparent=origin.traceparent,
    )
    return stream.name, body
