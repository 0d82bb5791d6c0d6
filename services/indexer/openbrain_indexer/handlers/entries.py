"""From a row of the truth to what an index holds. Pure: the same row always gives the same entries."""

from openbrain.domain.access.metadata_pairs import metadata_pairs
from openbrain.domain.access.visibility import NEVER
from openbrain.domain.ids import bucket, digest, point_id
from openbrain.domain.memory import Memory, names_of
from openbrain.domain.text.passage_header import header
from openbrain.domain.text.passages import passages
from openbrain.ports.index import Fields, TextEntry, Tombstone, VectorEntry
from openbrain.ports.store.index_entries import PassageSet


def fields(memory: Memory) -> Fields:
    return Fields(
        workspace_id=memory.workspace_id,
        org=memory.org,
        project=memory.project,
        agent_id=memory.agent_id,
        session_id=memory.session_id,
        memory_scope=memory.memory_scope,
        audience=memory.audience,
        type=memory.type,
        tags=memory.tags,
        metadata_pairs=metadata_pairs(memory.metadata) if memory.metadata else (),
        source=memory.source,
        confidence=memory.confidence,
        occurred_at=memory.occurred_at,
        expires_at=NEVER if memory.expires_at is None else memory.expires_at,
        created_at=memory.created_at,
    )


def text_entry(memory: Memory, builder: str) -> TextEntry:
    """Date, speaker, names, content and tags as one searchable text; where it is long, in passages with the same."""
    texts = (memory.content, *passages(memory.content))
    before, behind = (header(memory), memory.title), (" ".join(memory.aliases), " ".join(memory.tags))
    whole, *parts = ("\n".join(filter(None, (*before, text, *behind))) for text in texts)
    return TextEntry(
        id=memory.id,
        memory_id=memory.id,
        revision=memory.revision,
        bucket=bucket(memory.id),
        digest=digest(memory.id, 0, memory.revision, memory.updated_at, memory.content_hash, builder),
        fields=fields(memory),
        text=whole,
        metadata=memory.metadata,
        passages=tuple(parts),
        names=names_of(memory),
    )


def vector_entries(memory: Memory, embedded: PassageSet, builder: str) -> list[VectorEntry | Tombstone]:
    """One point a passage, and a tombstone for each passage that an earlier revision had and this one lacks."""
    shared = fields(memory)
    entries: list[VectorEntry | Tombstone] = []
    for number, vector in enumerate(embedded.vectors):
        entry_id = point_id(memory.id, number)
        entries.append(
            VectorEntry(
                id=entry_id,
                memory_id=memory.id,
                revision=memory.revision,
                bucket=bucket(memory.id),
                digest=digest(memory.id, number, memory.revision, memory.updated_at, memory.content_hash, builder),
                fields=shared,
                vector=vector,
            )
        )
    entries.extend(tombstones(memory, first=len(embedded.vectors), end=memory.passages_high))
    return entries


def tombstones(memory: Memory, *, first: int, end: int) -> list[Tombstone]:
    """Removals of the passages first..end-1. Ids are computed, never searched for."""
    return [
        Tombstone(
            id=point_id(memory.id, number),
            memory_id=memory.id,
            revision=memory.revision,
            bucket=bucket(memory.id),
            at=_changed_at(memory),
        )
        for number in range(first, end)
    ]


def _changed_at(memory: Memory) -> int:
    """Since when nobody can have read the row as it was before."""
    return max(memory.updated_at, memory.deleted_at or memory.archived_at or memory.expires_at or 0)
