"""Tools for turns of conversations, with the names that clients of the other contract use."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult

from openbrain.domain.access.toolsets import Toolset
from openbrain_mcp.tools import answers, arguments, fence
from openbrain_mcp.tools.spec import READS, REPEATS, ToolSpec

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.thoughts import ThoughtAnswer


class Captured(answers.Done):
    """Of capture."""

    id: str | None = None
    duplicate: bool | None = None


async def capture(
    brain: "OpenBrain",
    content: arguments.Thought,
    source: arguments.Source = None,
    metadata: arguments.Metadata = None,
) -> Annotated[CallToolResult, Captured]:
    """Keep one turn of a conversation for yourself, letter by letter. What others should know is brain_remember."""
    thought = await brain.capture(content, source=source or "mcp", metadata=metadata or {})
    summary = f"{'It was there already' if thought.duplicate else 'Stored'}: {thought.id}"
    return answers.both(summary, Captured(id=thought.id, duplicate=thought.duplicate))


async def search(
    brain: "OpenBrain",
    query: arguments.Query,
    limit: arguments.Count = None,
    source: arguments.Source = None,
    metadata: arguments.MetadataFilter = None,
) -> CallToolResult:
    """Find your kept turns that are nearest to a question."""
    filters = arguments.given(source=source, metadata=metadata)
    return _shown(await brain.search_thoughts(query, limit=limit, **filters))


async def recent(
    brain: "OpenBrain",
    limit: arguments.Page = None,
    source: arguments.Source = None,
    metadata: arguments.MetadataFilter = None,
) -> CallToolResult:
    """Read your newest kept turns, newest first."""
    filters = arguments.given(source=source, metadata=metadata)
    return _shown(await brain.recent_thoughts(limit=limit, **filters))


async def stats(brain: "OpenBrain") -> CallToolResult:
    """Count the turns that you kept: all, those found by meaning, and those of each source."""
    counts = await brain.thought_stats()
    head = f"{counts.total} turns, {counts.embedded} of them found by meaning."
    # Sources are written by agents, so they are fenced.
    lines = "\n".join(f"{source}: {count}" for source, count in counts.by_source.items())
    return answers.text(head, fence.fenced([fence.Block({}, lines, "sources")]) if lines else "")


def _shown(hits: "Iterable[ThoughtAnswer]") -> CallToolResult:
    """The turns, each with its provenance."""
    blocks = [fence.Block(_labels(hit), hit.content, "thought") for hit in hits]
    return answers.text(fence.fenced(blocks, each=answers.LISTED_CHARS))


def _labels(thought: "ThoughtAnswer") -> dict[str, object]:
    own = {"id": thought.id, "source": thought.source, "created_at": f"{thought.created_at:%Y-%m-%dT%H:%M:%SZ}"}
    return {
        **_metadata(thought.metadata),
        **own,
        "similarity": thought.similarity,
        "labels": ", ".join(thought.labels),
    }


def _metadata(given: Mapping[str, object]) -> dict[str, object]:
    """The members as labels. Those that would make them longer than the turn itself are only counted."""
    labels: dict[str, object] = {}
    left, omitted = answers.LISTED_CHARS, 0
    for name, value in given.items():
        if not isinstance(value, str | int):
            continue
        if (size := len(name) + len(str(value))) > left:
            omitted += 1
            continue
        left -= size
        labels[f"metadata.{name}"] = value
    return {**labels, "metadata": f"{omitted} more, too long to show"} if omitted else labels


TOOLS = (
    ToolSpec(capture, "Keep a turn", REPEATS, Toolset.THOUGHTS),
    ToolSpec(search, "Search turns", READS, Toolset.THOUGHTS),
    ToolSpec(recent, "Newest turns", READS, Toolset.THOUGHTS),
    ToolSpec(stats, "Count turns", READS, Toolset.THOUGHTS),
)
