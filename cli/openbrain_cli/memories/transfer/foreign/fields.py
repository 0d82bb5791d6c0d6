"""Conversion of other stores' cells to fields of a memory."""

import json
import uuid
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from openbrain.contract.thoughts import ThoughtBody
from openbrain.domain import limits
from openbrain.domain.ids import is_uuid, joined_hash
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.json_safe import that_fit
from openbrain_cli.importers.records.mapping import when

_NAMESPACE = uuid.UUID("6f1b6e2a-9a52-5b0e-8a4c-3f0f2f1f7d11")


def text(value: object) -> str:
    """A cell as text; '' for NULL."""
    return "" if value is None else str(value)


def memory_id(store: str, value: object) -> str:
    """The row's id if it is a UUID, else a UUID derived from the store and the id."""
    # JSON may have half a surrogate pair, which no digest takes.
    given = text(value).strip().lower().encode(errors="replace").decode()
    return given if is_uuid(given) else str(uuid.uuid5(_NAMESPACE, f"{store}\0{given}"))


def moment(value: object) -> str | None:
    """A time as ISO 8601; UTC if it has no time zone. None if it is in no year that UTC has."""
    given = value.isoformat() if isinstance(value, datetime) else value
    at = when(_with_minutes(given))
    try:
        return at.isoformat() if at and at.astimezone(UTC) else None
    except OverflowError:
        return None


def _with_minutes(value: object) -> object:
    """Complete a time zone that PostgreSQL writes as +00."""
    return f"{value}:00" if isinstance(value, str) and len(value) > 19 and value[-3] in "+-" else value


def as_object(value: object) -> dict[str, Any]:
    """Parse a JSON cell as an object of plain values that fit a memory's metadata."""
    parsed = _parsed(value)
    return that_fit(parsed)[0] if isinstance(parsed, dict) else {}


def as_tags(value: object) -> list[str]:
    """Parse a cell with a JSON list, a PostgreSQL array, or words separated by commas."""
    parsed = _parsed(value)
    if not isinstance(parsed, list | dict | None):
        # JSON takes the one tag 2024 for a number.
        words = parsed if isinstance(parsed, str) else text(value)
        parsed = [word.strip().strip('"') for word in words.strip("{}").split(",")]
    return list(dict.fromkeys(tag for each in parsed or () if (tag := str(each).strip())))


def vector(value: object) -> list[float] | None:
    """Parse a vector as pgvector and JSON write it. None if it is not valid; the server then embeds the text."""
    numbers = _parsed(value)
    if not isinstance(numbers, list) or not 0 < len(numbers) <= limits.VECTOR_NUMBERS:
        return None
    good = all(
        isinstance(number, int | float) and not isinstance(number, bool) and isfinite(number) for number in numbers
    )
    return [float(number) for number in numbers] if good else None


def thought(
    *,
    memory_id: str,
    content: str,
    source: str,
    metadata: dict[str, Any],
    agent: str,
    created: str | None,
    updated: str | None = None,
) -> dict[str, Any]:
    """The line of a thought. Its identity comes from the session and turn in its metadata, as for a posted thought."""
    turn = ThoughtBody.model_construct(content=content, metadata=metadata)
    role = metadata.get("role")
    return {
        "id": memory_id,
        "content": content,
        "type": MemoryType.CONTEXT,
        "memory_scope": Scope.AGENT,
        "agent_id": agent,
        "session_id": turn.session_id or None,
        "turn": turn.turn,
        "speaker": role if isinstance(role, str) else None,
        "metadata": metadata,
        "source": source,
        "identity": joined_hash(turn.identity, "1") if turn.identity else "",
        "allow_duplicate": not turn.identity,
        **times(created, updated),
    }


def identity_of(metadata: dict[str, Any]) -> str:
    """Identity of a turn, by which a repeated import recognises it; '' for a thought without one."""
    return ThoughtBody.model_construct(content="", metadata=metadata).identity


def fact(
    *, memory_id: str, content: str, kind: MemoryType, source: str, created: str | None, **more: Any
) -> dict[str, Any]:
    """The line of a fact: in the project's scope if one is given, else shared."""
    return {
        "id": memory_id,
        "content": content,
        "type": kind,
        "memory_scope": Scope.PROJECT if more.get("project") else Scope.SHARED,
        "source": source,
        **times(created, None),
        **more,
    }


def times(created: str | None, updated: str | None) -> dict[str, str | None]:
    """The times of a line; without an update, all are the time of creation."""
    last = updated or created
    return {"occurred_at": created, "confirmed_at": last, "created_at": created, "updated_at": last}


def _parsed(value: object) -> Any:
    if not isinstance(value, str | bytes):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
