"""Short ids for narrow terminals: the last twelve characters of an id, and the lookup of the full id."""

from typing import TYPE_CHECKING

from openbrain.domain.errors import Invalid, NotFound

if TYPE_CHECKING:
    from openbrain.client import OpenBrain

CHARS = 12
NARROW = 72
"""Terminals with fewer columns show short ids."""
_LOOKED_AT = 2000


def shown_id(memory_id: str, width: int) -> str:
    """The id in the form for a terminal of that width."""
    return memory_id if width >= NARROW else f"…{memory_id[-CHARS:]}"


async def whole_id(brain: "OpenBrain", typed: str, *, session_id: str = "") -> str:
    """Return a full id as typed; for a short id, find the one among the newest memories that ends with it."""
    end = typed.removeprefix("…").lower()
    if len(end) != CHARS:
        return typed
    cursor: str | None = None
    ids: set[str] = set()
    for _ in range(_LOOKED_AT // 100):
        page = await brain.memories(limit=100, cursor=cursor, session_id=session_id)
        ids |= {memory.id for memory in page.memories if memory.id.endswith(end)}
        cursor = page.next_cursor
        if cursor is None:
            break
    if len(ids) > 1:
        raise Invalid("ID", f"{typed} is the end of {len(ids)} ids: give a full id, as --json shows it")
    if not ids:
        raise NotFound(f"none of the newest {_LOOKED_AT} memories has an id that ends in {end}: give the full id")
    return ids.pop()
