"""Entries and queries for the tests of both indexes, with sensible defaults."""

import math
import uuid
from array import array
from collections.abc import Mapping

from openbrain.domain.access.metadata_pairs import metadata_pairs
from openbrain.domain.access.visibility import NEVER, AllOf, Equals
from openbrain.domain.ids import bucket, digest, point_id
from openbrain.domain.memory import Memory, MemoryType, Scope
from openbrain.ports.index import Fields, TextEntry, Tombstone, VectorEntry

WORKSPACE = "acme"
BUILDER = "test-1"
EVERYTHING = AllOf((Equals("workspace_id", WORKSPACE),))
"""The simplest condition that a request can have."""


def new_id() -> str:
    """Return an id that no other test uses."""
    return str(uuid.uuid4())


def memory(memory_id: str = "", **changes: object) -> Memory:
    """Return a memory of the workspace `acme` that everyone may see."""
    values: dict[str, object] = {
        "id": memory_id or new_id(),
        "workspace_id": WORKSPACE,
        "content": "",
        "type": MemoryType.FACT,
        "memory_scope": Scope.PROJECT,
        "occurred_at": 1_700_000_000_000_000,
        **changes,
    }
    return Memory(**values)  # type: ignore[arg-type]  # the values are named by the caller


def fields_of(row: Memory) -> Fields:
    """Return the fields that the indexes store of a row."""
    return Fields(
        workspace_id=row.workspace_id,
        org=row.org,
        project=row.project,
        agent_id=row.agent_id,
        session_id=row.session_id,
        memory_scope=row.memory_scope,
        audience=row.audience,
        type=row.type,
        tags=row.tags,
        metadata_pairs=metadata_pairs(row.metadata),
        source=row.source,
        confidence=row.confidence,
        occurred_at=row.occurred_at,
        expires_at=NEVER if row.expires_at is None else row.expires_at,
        created_at=row.created_at,
    )


def text_entry(
    row: Memory, text: str, *, revision: int = 1, metadata: Mapping[str, object] | None = None, **changes: object
) -> TextEntry:
    """Return a row's entry of the text index, found by `text`; `changes` replace fields of the entry itself."""
    values: dict[str, object] = {
        "id": row.id,
        "memory_id": row.id,
        "revision": revision,
        "bucket": bucket(row.id),
        "digest": digest(row.id, 0, revision, row.updated_at, text, BUILDER),
        "fields": fields_of(row),
        "text": text,
        "metadata": metadata or {},
        **changes,
    }
    return TextEntry(**values)  # type: ignore[arg-type]  # the values are named by the caller


def tombstone(memory_id: str, *, revision: int, entry_id: str = "") -> Tombstone:
    """Return the tombstone of a memory, or of one of its passages."""
    return Tombstone(id=entry_id or memory_id, memory_id=memory_id, revision=revision, bucket=bucket(memory_id))


def direction(*numbers: float) -> "array[float]":
    """Return the unit vector in this direction."""
    length = math.hypot(*numbers)
    return array("f", (number / length for number in numbers))


def vector_entry(
    row: Memory, vector: "array[float]", *, revision: int = 1, passage: int = 0, **changes: object
) -> VectorEntry:
    """Return a passage's entry of the vector index; `changes` replace fields of the entry itself."""
    entry_id = point_id(row.id, passage)
    values: dict[str, object] = {
        "id": entry_id,
        "memory_id": row.id,
        "revision": revision,
        "bucket": bucket(row.id),
        "digest": digest(row.id, passage, revision, row.updated_at, row.content, BUILDER),
        "fields": fields_of(row),
        "vector": vector,
        **changes,
    }
    return VectorEntry(**values)  # type: ignore[arg-type]  # the values are named by the caller
