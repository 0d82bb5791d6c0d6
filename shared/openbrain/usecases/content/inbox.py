"""Messages as shown to a reader of an inbox, over HTTP and in webhooks."""

from collections.abc import Sequence

from openbrain.contract.messages import MessageAnswer
from openbrain.domain.access.visibility import Criteria, Viewer, matcher, visible
from openbrain.ports.agents import Message, Messages
from openbrain.ports.store.memories import Memories


async def shown_messages(
    memories: Memories, viewer: Viewer, rows: Sequence[Message], now: int
) -> tuple[MessageAnswer, ...]:
    """Return matches with the text of their memories. Visibility is checked again: a match whose memory has ended or is
    no longer visible is shown as withdrawn, even if the matcher has not withdrawn it yet."""
    sees = matcher(visible(viewer, Criteria(), now))
    ids = [row.memory_id for row in rows if row.memory_id and row.withdrawn_at is None]
    by_id = await memories.rows(ids) if ids else {}
    seen = {memory.id: memory for memory in by_id.values() if memory.alive(now) and sees(memory)}
    return tuple(MessageAnswer.shown(row, seen.get(row.memory_id or "")) for row in rows)


async def last_number(messages: Messages, viewer: Viewer) -> int:
    """Return the last number of the viewer's inbox; 0 if it is empty."""
    box = viewer.workspace_id, viewer.agent_id
    return (await messages.last_numbers([box])).get(box, 0)
