"""Results of the tools.

Coding agents hand a model the structured result alone where there is one. So what was stored is answered as fenced text
and nothing else; a structured result has no word in it that anybody wrote.
"""

from datetime import datetime
from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from openbrain_mcp.tools import fence

if TYPE_CHECKING:
    from openbrain.contract.brain import memories
    from openbrain.contract.brain.recall import Recalled


class Stored(BaseModel):
    """Of brain_remember."""

    success: bool = True
    memoryId: str  # noqa: N815 - the name that clients know
    timestamp: datetime
    duplicate: bool = Field(description="The same content was there already: this is that memory.")


class Forgotten(BaseModel):
    """Of brain_forget."""

    success: bool = True
    forgotten: str = Field(description="The memory's id.")
    timestamp: datetime


def stored(memory: "memories.Remembered") -> CallToolResult:
    """Its id."""
    told = f"{'It was there already' if memory.duplicate else 'Stored'}: {memory.id}"
    return _both(told, Stored(memoryId=memory.id, timestamp=memory.created_at, duplicate=memory.duplicate))


def forgotten(memory: "memories.Forgotten") -> CallToolResult:
    """When it ended."""
    at = memory.deleted_at or memory.updated_at
    return _both(f"Forgotten: {memory.id}", Forgotten(forgotten=memory.id, timestamp=at))


def found(recalled: "Recalled") -> CallToolResult:
    """The memories, behind what did not answer."""
    silent = " and ".join(str(part) for part in recalled.degraded)
    head = f"The search by {silent} did not answer: there may be more." if silent else ""
    return _text(head, fence.fenced(recalled.memories))


def listed(page: "memories.Listed") -> CallToolResult:
    """The memories, behind the way to those that follow: a client may cut off a long answer's end."""
    head = f"More follow: ask again with cursor {page.next_cursor}" if page.next_cursor else ""
    return _text(head, fence.fenced(page.memories))


def _text(*parts: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="\n\n".join(filter(None, parts)))])


def _both(told: str, fields: BaseModel) -> CallToolResult:
    made = _text(told)
    made.structured_content = fields.model_dump(mode="json")
    return made
