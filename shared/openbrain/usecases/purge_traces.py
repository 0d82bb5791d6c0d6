"""Selects the submissions on a stream that belong to memories to be erased without trace."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import orjson

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.events.envelope import CloudEvent, decode
from openbrain.domain.events.streams import SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.ids import content_hash, joined_hash
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.streams import Doomed
from openbrain.usecases.content.admission import texts_of
from openbrain.usecases.remember import normalised, own_key
from openbrain.usecases.submit import from_event

_SUBMISSION = CloudEvent[MemorySubmitted]
"""Module-level because pydantic doesn't cache such models, and building one takes longer than reading an event."""
SKEW = 2 * MICROSECONDS
"""The maximum difference between the clocks of API and housekeeper; the stream server's clock is asked."""


def of_memories(workspace_id: str, contents: Collection[str], keys: Collection[str], at: int) -> Doomed:
    """Select submissions with one of these contents made until `at`, or with one of these idempotency keys."""

    def doomed(raw: bytes, bound: str, added: int | None) -> bool:
        workspace, key = _content_key(raw, bound)
        # Submitted after the erasure: a new memory.
        if workspace == workspace_id and key in contents and (added is None or added <= at + SKEW):
            return True
        return _key(raw, bound) in keys

    return doomed


def of_workspace(workspace_id: str) -> Doomed:
    """Select everything submitted to the workspace."""

    def doomed(raw: bytes, bound: str, _added: int | None) -> bool:
        return (bound or _data(raw).get("workspace_id")) == workspace_id

    return doomed


def of_texts(workspace_id: str, holds: Callable[[Sequence[str]], bool]) -> Doomed:
    """Select submissions to the workspace for whose texts `holds` returns True."""
    in_workspace = of_workspace(workspace_id)

    def doomed(raw: bytes, bound: str, added: int | None) -> bool:
        return in_workspace(raw, bound, added) and holds([text for _, text in texts_of(_data(raw))])

    return doomed


def _content_key(raw: bytes, bound: str) -> tuple[str, str]:
    data = _data(raw)
    content, named = data.get("content"), data.get("workspace_id")
    workspace = bound or (named if isinstance(named, str) else "")
    return workspace, content_hash(normalised(content)) if isinstance(content, str) else ""


def _data(raw: bytes) -> dict[str, Any]:
    """Also reads events that could not be processed: dead letters contain the submission too."""
    try:
        event = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    data = event.get("data") if isinstance(event, dict) else None
    return data if isinstance(data, dict) else {}


def _key(raw: bytes, bound: str) -> str:
    try:
        event = decode(_SUBMISSION, raw, SUBMITTED.type)
        offer = from_event(event, bound_workspace=bound)
    except OpenBrainError:
        return ""
    return joined_hash(offer.actor.workspace_id, own_key(offer, offer.actor))
