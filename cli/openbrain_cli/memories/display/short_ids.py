"""Ids as a narrow terminal shows them: their last twelve characters, and from those the whole id again."""

from typing import TYPE_CHECKING

from openbrain.domain.errors import Invalid, NotFound

if TYPE_CHECKING:
    from openbrain.client import OpenBrain

CHARS = 12
WHOLE = 36
NARROW = 72
"""Columns of a terminal below which ids are short."""
_LOOKED_AT = 2000


def shown_id(memory_id: str, width: int) -> str:
    """The id as a terminal of that width shows it."""
    return memory_id if width >= NARROW else f"…{memory_id[-CHARS:]}"


async def whole_id(brain: "OpenBrain", typed: str, *, session_id: str = "") -> str:
    """The id that was typed whole, or the one among the newest memories that ends like this."""
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
        raise Invalid("ID", f"{typed} is the end of {len(ids)} ids: give one whole, from --json")
    if not ids:
        raise NotFound(f"none of the newest {_LOOKED_AT} memories has an id that ends in {end}: give it whole")
    return ids.pop()
