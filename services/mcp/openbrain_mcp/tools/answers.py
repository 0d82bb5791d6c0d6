"""Results of the tools.

If there is a structured result, coding agents show the model only that. So stored text is returned only as fenced text;
a structured result contains no text that an agent or person wrote.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from openbrain_mcp.tools import fence
from openbrain_mcp.tools.fence import Block

if TYPE_CHECKING:
    from openbrain.contract.brain.memories import Lineage, MemoryAnswer, MemoryDetail

RECALLED_CHARS = 2_000
LISTED_CHARS = 400
WHOLE_CHARS = 60_000
_STATE = ("state", "reason", "version", "supersedes_id", "expires_at", "session_id")


class Done(BaseModel):
    """Of a tool that writes. While the brain is away there is no more to tell."""

    success: bool = True
    pending: bool | None = Field(None, description="Not sent yet; do not repeat.")


def memory_detail(memory: "MemoryDetail") -> CallToolResult:
    """One memory with all of its text."""
    blocks = [fence.memory_block(memory, _STATE)]
    if memory.history:
        lines = [
            f"{line.at:%Y-%m-%dT%H:%M:%SZ} {line.action} by {line.actor}: {line.reason}" for line in memory.history
        ]
        blocks.append(Block({"of": memory.id}, "\n".join(lines), "history"))
    return text(more(memory.next_cursor), chain(memory.lineage), fence.fenced(blocks, budget=WHOLE_CHARS))


def chain(lineage: "Lineage | None") -> str:
    """The ids of what it replaced and was replaced by."""
    ids = () if lineage is None else (*lineage.parents, *lineage.children)
    return f"Its chain: {', '.join(ids)}" if ids else ""


def listed(memories: "Iterable[MemoryAnswer]") -> str:
    """Memories with their provenance, each shortened to its beginning."""
    return fence.fenced([fence.memory_block(memory) for memory in memories], each=LISTED_CHARS)


def more(cursor: str | None) -> str:
    """Say how to read the next page."""
    return f"More follow: ask again with cursor {cursor}" if cursor else ""


def text(*parts: str) -> CallToolResult:
    """A result with text only."""
    return CallToolResult(content=[TextContent(type="text", text="\n\n".join(filter(None, parts)))])


def both(summary: str, fields: BaseModel) -> CallToolResult:
    """A result with a line of text, and the same as structured fields."""
    made = text(summary)
    made.structured_content = fields.model_dump(mode="json", exclude_none=True)
    return made
