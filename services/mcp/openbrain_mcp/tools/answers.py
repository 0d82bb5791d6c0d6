"""Results of the tools.

Coding agents hand a model the structured result alone where there is one. So what was stored is answered as fenced text
and nothing else; a structured result has no word in it that anybody wrote.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from openbrain.domain.signals.values import Severity
from openbrain_mcp.tools import fence
from openbrain_mcp.tools.fence import Block

if TYPE_CHECKING:
    from openbrain.contract import messages
    from openbrain.contract import thoughts as contract
    from openbrain.contract.amygdala import signals as amygdala
    from openbrain.contract.brain import discovery, memories
    from openbrain.contract.brain.context import AgentContext
    from openbrain.contract.brain.feedback import FeedbackGiven
    from openbrain.contract.brain.recall import Recalled

RECALLED_CHARS = 2_000
LISTED_CHARS = 400
WHOLE_CHARS = 60_000
_STATE = ("state", "reason", "version", "supersedes_id", "expires_at", "session_id")


class Done(BaseModel):
    """Of a tool that writes. While the brain is away there is no more to tell."""

    success: bool = True
    pending: bool | None = Field(None, description="Not sent yet; do not repeat.")


class Stored(Done):
    """Of brain_remember."""

    id: str | None = None
    memoryId: str | None = None  # noqa: N815 - the name that older clients know
    timestamp: datetime | None = None
    duplicate: bool | None = Field(None, description="The same content was there already.")


class Updated(Done):
    """Of brain_update."""

    id: str | None = None
    version: int | None = None


class Forgotten(Done):
    """Of brain_forget."""

    id: str | None = None
    forgotten: bool | None = None
    timestamp: datetime | None = None


class SignalState(Done):
    """Of the tools that raise and acknowledge alarms."""

    id: str | None = None
    state: str | None = None
    severity: Severity | None = None
    halt_id: str | None = None


class Judged(Done):
    """Of brain_feedback."""

    counted: int | None = None


class Sent(Done):
    """Of agent_send."""

    id: str | None = None
    seq: int | None = None
    duplicate: bool | None = None


class Captured(Done):
    """Of capture."""

    id: str | None = None
    duplicate: bool | None = None


def captured(thought: "contract.ThoughtStored") -> CallToolResult:
    """Show the id of a thought."""
    first_line = f"{'It was there already' if thought.duplicate else 'Stored'}: {thought.id}"
    return both(first_line, Captured(id=thought.id, duplicate=thought.duplicate))


def thoughts(hits: "Sequence[contract.ThoughtAnswer]") -> CallToolResult:
    """Each with its provenance."""
    blocks = [Block(_thought_labels(hit), hit.content, "thought") for hit in hits]
    return text(fence.fenced(blocks, each=LISTED_CHARS))


def _thought_labels(thought: "contract.ThoughtAnswer") -> dict[str, object]:
    said = {name: value for name, value in thought.metadata.items() if isinstance(value, str | int)}
    own = {"id": thought.id, "source": thought.source, "created_at": f"{thought.created_at:%Y-%m-%dT%H:%M:%SZ}"}
    return {
        **{f"metadata.{name}": value for name, value in said.items()},
        **own,
        "similarity": thought.similarity,
        "labels": ", ".join(thought.labels),
    }


def thought_stats(counts: "contract.ThoughtStats") -> CallToolResult:
    """Sources are what agents wrote: they stand in a fence."""
    lines = "\n".join(f"{source}: {count}" for source, count in counts.by_source.items())
    head = f"{counts.total} turns, {counts.embedded} of them found by meaning."
    return text(head, fence.fenced([Block({}, lines, "sources")]) if lines else "")


def stored(memory: "memories.Remembered") -> CallToolResult:
    """Show the id of a memory."""
    first_line = f"{'It was there already' if memory.duplicate else 'Stored'}: {memory.id}"
    fields = Stored(id=memory.id, memoryId=memory.id, timestamp=memory.created_at, duplicate=memory.duplicate)
    return both(first_line, fields)


def updated(memory: "memories.MemoryAnswer") -> CallToolResult:
    """Show the version of a memory."""
    return both(f"Changed: {memory.id}", Updated(id=memory.id, version=memory.version))


def forgotten(memory: "memories.Forgotten") -> CallToolResult:
    """Show when a memory ended."""
    at = memory.deleted_at or memory.updated_at
    return both(f"Forgotten: {memory.id}", Forgotten(id=memory.id, forgotten=True, timestamp=at))


def found(recalled: "Recalled") -> CallToolResult:
    """The memories, behind what did not answer."""
    silent = " and ".join(str(part) for part in recalled.degraded)
    head = f"The search by {silent} did not answer: there may be more." if silent else ""
    named = f"recall_id for brain_feedback: {recalled.recall_id}" if recalled.memories else ""
    return text(head, named, fence.fenced(list(_hits(recalled)), each=RECALLED_CHARS))


def judged(given: "FeedbackGiven") -> CallToolResult:
    """Show the result for each verdict."""
    lines = [f"{result.memory_id}: {result.verdict}, {result.status}" for result in given.results]
    return both("\n".join(lines), Judged(counted=given.count))


def listed(page: "memories.Listed") -> CallToolResult:
    """The memories, behind the way to those that follow: a client may cut off a long answer's end."""
    return text(more(page.next_cursor), _memories(page.memories, LISTED_CHARS))


def searched(page: "discovery.Searched") -> CallToolResult:
    """Show the hits of a search."""
    silent = "The text index did not answer: only the newest were looked at." if page.degraded else ""
    return text(silent, more(page.next_cursor), _memories(page.hits, LISTED_CHARS))


def whole(memory: "memories.MemoryDetail") -> CallToolResult:
    """One memory with all of its text."""
    blocks = [fence.memory_block(memory, _STATE)]
    if memory.history:
        lines = [
            f"{line.at:%Y-%m-%dT%H:%M:%SZ} {line.action} by {line.actor}: {line.reason}" for line in memory.history
        ]
        blocks.append(Block({"of": memory.id}, "\n".join(lines), "history"))
    return text(fence.fenced(blocks, budget=WHOLE_CHARS))


def tags(counts: "discovery.TagCounts") -> CallToolResult:
    """Tags with counts."""
    return text(_counted(((tag.name, tag.count) for tag in counts.tags), "tags"))


def scopes(counts: "discovery.ScopeCounts") -> CallToolResult:
    """Orgs and their projects with counts."""
    lines = (
        (f"{of.org or '(no org)'} / {project.name or '(no project)'}", project.count)
        for of in counts.scopes
        for project in of.projects
    )
    return text(_counted(lines, "scopes"))


def context(read: "AgentContext") -> CallToolResult:
    """Show the context as the server laid it out: the same bytes while nothing changed."""
    return text(more(read.next_cursor), read.text)


def sent(message: "messages.MessageSent") -> CallToolResult:
    """Show the number of a message."""
    return both(f"Sent: {message.id}", Sent(id=message.id, seq=message.seq, duplicate=message.duplicate))


def inbox(page: "messages.Inbox") -> CallToolResult:
    """Messages, and where to go on."""
    head = f"{page.unread} unread in all. Behind these: after {page.next_after}" if page.next_after else ""
    return text(head, _messages(page.messages))


def conversation(page: "messages.Conversation") -> CallToolResult:
    """Messages of both."""
    return text(more(page.next_cursor), _messages(page.messages))


def signals(page: "amygdala.SignalList") -> CallToolResult:
    """Alarms."""
    blocks = [
        Block(
            signal.model_dump(
                mode="json",
                include={"id", "severity", "state", "source", "org", "project", "count", "last_raised_at", "title"},
            ),
            signal.content,
            "signal",
        )
        for signal in page.signals
    ]
    return text(more(page.next_cursor), fence.fenced(blocks, each=RECALLED_CHARS))


def signal_state(summary: str, signal: "amygdala.SignalAnswer") -> CallToolResult:
    """Show the state of an alarm."""
    return both(f"{summary}: {signal.id}", SignalState(id=signal.id, state=signal.state, severity=signal.severity))


def signal_raised(raised: "amygdala.SignalRaised") -> CallToolResult:
    """Show the result of a raise."""
    signal, halt = raised.signal, raised.halt
    fields = SignalState(
        id=signal.id if signal else None,
        state=str(raised.status),
        severity=signal.severity if signal else None,
        halt_id=halt.id if halt else None,
    )
    first_line = f"{str(raised.status).capitalize()}{f': {signal.id}' if signal else ''}"
    return both(f"{first_line}{f'; everyone halts: {halt.id}' if halt else ''}", fields)


def more(cursor: str | None) -> str:
    """Say how to read the next page."""
    return f"More follow: ask again with cursor {cursor}" if cursor else ""


def text(*parts: str) -> CallToolResult:
    """Text alone."""
    return CallToolResult(content=[TextContent(type="text", text="\n\n".join(filter(None, parts)))])


def both(summary: str, fields: BaseModel) -> CallToolResult:
    """A line, and the same as fields."""
    made = text(summary)
    made.structured_content = fields.model_dump(mode="json", exclude_none=True)
    return made


def _hits(recalled: "Recalled") -> Iterator[Block]:
    """Each with what was said beside it."""
    for memory in recalled.memories:
        yield fence.memory_block(memory, folded=recalled.folded.get(memory.id, ()))
        if beside := (recalled.around or {}).get(memory.id):
            lines = "\n".join(f"{turn.turn} {turn.speaker or ''}: {turn.content}" for turn in beside)
            yield Block({"beside": memory.id}, lines, "turns")


def linked(links: "memories.Related") -> CallToolResult:
    """Memories by the kind of the link; each once."""
    kinds = {"nearest": links.nearest, "session": links.session, "name": links.named}
    once = {memory.id: (kind, memory) for kind, of_kind in reversed(kinds.items()) for memory in reversed(of_kind)}
    blocks = [fence.memory_block(memory, link=kind) for kind, memory in reversed(once.values())]
    chain = ", ".join((*links.chain.parents, *links.chain.children))
    return text(f"Its chain: {chain}" if chain else "", fence.fenced(blocks, each=LISTED_CHARS))


def _memories(hits: "Iterable[memories.MemoryAnswer]", length: int) -> str:
    return fence.fenced([fence.memory_block(memory) for memory in hits], each=length)


def _messages(received: "Iterable[messages.MessageAnswer]") -> str:
    return fence.fenced(
        [Block(_message_labels(item), item.content, "message") for item in received], each=RECALLED_CHARS
    )


def _message_labels(message: "messages.MessageAnswer") -> dict[str, object]:
    """Of a match of a standing query, which memory it is of too."""
    names = {"id", "sender", "recipient", "subject", "org", "seq", "read", "created_at"}
    labels: dict[str, object] = message.model_dump(mode="json", include=names)
    if message.match is not None:
        labels |= message.match.model_dump(mode="json", include={"subscription_id", "memory_id", "similarity"})
        labels["withdrawn"] = "yes" if message.match.withdrawn else ""
    return {**labels, "labels": ", ".join(message.labels)}


def _counted(counts: Iterable[tuple[str | None, int]], kind: str) -> str:
    lines = "\n".join(f"{count} {name if name is not None else '(none)'}" for name, count in counts)
    return fence.fenced([Block({}, lines, kind)] if lines else [])
