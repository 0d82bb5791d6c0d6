"""Messages as whoever may read an inbox is shown them, over HTTP and by a webhook alike."""

from collections.abc import Sequence

from openbrain.contract.messages import MessageAnswer
from openbrain.domain.access.visibility import Criteria, Viewer, matcher, visible
from openbrain.ports.agents import Message, Messages
from openbrain.ports.store.memories import Memories


async def shown_messages(
    memories: Memories, viewer: Viewer, rows: Sequence[Message], now: int
) -> tuple[MessageAnswer, ...]:
    """Matches with the text of their memories. The one predicate is asked again: what ended since, or became another's,
    is shown as withdrawn, whether or not the matcher has said so yet."""
    sees = matcher(visible(viewer, Criteria(), now))
    ids = [row.memory_id for row in rows if row.memory_id and row.withdrawn_at is None]
    by_id = await memories.rows(ids) if ids else {}
    seen = {memory.id: memory for memory in by_id.values() if memory.alive(now) and sees(memory)}
    return tuple(MessageAnswer.shown(row, seen.get(row.memory_id or "")) for row in rows)


async def last_number(messages: Messages, viewer: Viewer) -> int:
    """Of the viewer's inbox; 0 where nothing ever came."""
    box = viewer.workspace_id, viewer.agent_id
    return (await messages.last_numbers([box])).get(box, 0)
