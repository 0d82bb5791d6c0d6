"""Turns of conversations, by the names that clients of the other contract call."""

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult

from openbrain.domain.access.toolsets import Toolset
from openbrain_mcp.tools import answers, arguments
from openbrain_mcp.tools.spec import READS, REPEATS, ToolSpec

if TYPE_CHECKING:
    from openbrain.client import OpenBrain


async def capture(
    brain: "OpenBrain",
    content: arguments.Thought,
    source: arguments.Source = None,
    metadata: arguments.Metadata = None,
) -> Annotated[CallToolResult, answers.Captured]:
    """Keep one turn of a conversation for yourself, letter by letter. What others should know is brain_remember."""
    return answers.captured(await brain.capture(content, source=source or "mcp", metadata=metadata or {}))


async def search(
    brain: "OpenBrain",
    query: arguments.Query,
    limit: arguments.Count = None,
    source: arguments.Source = None,
    metadata: arguments.MetadataFilter = None,
) -> CallToolResult:
    """Find your kept turns that are nearest to a question."""
    filters = arguments.given(source=source, metadata=metadata)
    return answers.thoughts(await brain.search_thoughts(query, limit=limit, **filters))


async def recent(
    brain: "OpenBrain",
    limit: arguments.Page = None,
    source: arguments.Source = None,
    metadata: arguments.MetadataFilter = None,
) -> CallToolResult:
    """Read your newest kept turns, newest first."""
    filters = arguments.given(source=source, metadata=metadata)
    return answers.thoughts(await brain.recent_thoughts(limit=limit, **filters))


async def stats(brain: "OpenBrain") -> CallToolResult:
    """Count the turns that you kept: all, those found by meaning, and those of each source."""
    return answers.thought_stats(await brain.thought_stats())


TOOLS = (
    ToolSpec(capture, "Keep a turn", REPEATS, Toolset.THOUGHTS),
    ToolSpec(search, "Search turns", READS, Toolset.THOUGHTS),
    ToolSpec(recent, "Newest turns", READS, Toolset.THOUGHTS),
    ToolSpec(stats, "Count turns", READS, Toolset.THOUGHTS),
)
