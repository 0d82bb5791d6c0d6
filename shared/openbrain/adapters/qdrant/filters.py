"""Converts conditions and entries to Qdrant's types."""

from collections.abc import Sequence
from typing import Any

from qdrant_client import models

from openbrain.adapters.indexes.entries import plain_bound
from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.access.visibility import (
    KEYWORD_FIELDS,
    NUMBER_FIELDS,
    AllOf,
    AnyOf,
    AtLeast,
    Condition,
    Equals,
    LessThan,
    OneOf,
    Says,
)
from openbrain.domain.times import to_iso
from openbrain.ports.index import Tombstone, VectorEntry

VECTOR = "v"
_NOTHING = models.FieldCondition(key="revision", range=models.Range(lt=0))
_NO_DIGEST = models.IsEmptyCondition(is_empty=models.PayloadField(key="digest"))
TOMBSTONES = models.Filter(
    must=[models.IsEmptyCondition(is_empty=models.PayloadField(key="workspace_id")), _NO_DIGEST],
)
"""A tombstone is a point without a digest. It has no workspace either; that field is indexed, so it finds the
points."""
WITH_VECTOR = models.Filter(must=[TOMBSTONES, models.HasVectorCondition(has_vector=VECTOR)])
"""Tombstones that still have a vector."""


def compiled(condition: AllOf) -> models.Filter:
    """Return the condition as a filter."""
    return models.Filter(must=[_node(item) for item in condition.conditions])


def _node(condition: Condition) -> models.FieldCondition | models.Filter:
    match condition:
        case Equals(field, value):
            return models.FieldCondition(key=field, match=models.MatchValue(value=value))
        case OneOf(_, ()) | AnyOf(()):
            return _NOTHING
        case OneOf(field, values):
            return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
        case Says():
            raise KeyError("an index can't evaluate `Says`: only the database can")
        case AtLeast(field, bound):
            return models.FieldCondition(key=field, range=models.Range(gte=plain_bound(field, bound)))
        case LessThan(field, bound):
            return models.FieldCondition(key=field, range=models.Range(lt=plain_bound(field, bound)))
        case AllOf() as every:
            return compiled(every)
        case AnyOf(conditions):
            return models.Filter(should=[_node(condition) for condition in conditions])


def not_higher(revision: int) -> models.Filter:
    """Match entries that this revision may replace."""
    return models.Filter(must=[models.FieldCondition(key="revision", range=models.Range(lte=revision))])


def removed_among(ids: Sequence[str]) -> models.Filter:
    """Match points that are still tombstones when the server applies the request, not entries that replaced them."""
    return models.Filter(must=[models.HasIdCondition(has_id=list(ids)), _NO_DIGEST])


def point(entry: VectorEntry | Tombstone) -> models.PointStruct:
    """Return an entry as a point. A tombstone has no vector and no workspace, so no search finds it."""
    payload: dict[str, Any] = {"memory_id": entry.memory_id, "revision": entry.revision, "bucket": entry.bucket}
    if isinstance(entry, Tombstone):
        if entry.at:
            payload["removed_at"] = entry.at
        return models.PointStruct(id=entry.id, vector={}, payload=payload)
    payload["digest"] = entry.digest
    payload |= {field: getattr(entry.fields, field) for field in (*KEYWORD_FIELDS, *NUMBER_FIELDS)}
    payload["tags"] = list(entry.fields.tags)
    payload[METADATA_PAIRS] = list(entry.fields.metadata_pairs)
    payload["created_at"] = to_iso(entry.fields.created_at)
    return models.PointStruct(id=entry.id, vector={VECTOR: entry.vector.tolist()}, payload=payload)
