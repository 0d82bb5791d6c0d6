"""Display of memories."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from openbrain_cli.memories.display.short_ids import shown_id
from openbrain_cli.output import console, day, moment, one_line, plain, show, table

if TYPE_CHECKING:
    from rich.text import Text

    from openbrain.contract.brain.memories import HistoryLine, Lineage, MemoryAnswer, MemoryDetail, Related
    from openbrain.contract.brain.recall import Explanation, IndexShare, TurnBeside

_LINES = 2


def listed(
    memories: "Sequence[MemoryAnswer]",
    *,
    scored: bool = False,
    folded: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Show one row per memory: rank and scores, or its day; its text; and below how it is filed and which near-equal
    memories are folded into it."""
    width = max(20, console().width - 14)
    if scored:
        rows = (
            (
                at,
                f"{memory.score or 0:.2f}",
                f"{memory.similarity or 0:.2f}",
                _cell(memory, width - 14, folded.get(memory.id, ())),
            )
            for at, memory in enumerate(memories, 1)
        )
        show(table("#", "score", "similarity", "memory", rows=rows))
        return
    show(table("created", "memory", rows=((day(memory.created_at), _cell(memory, width)) for memory in memories)))


def _cell(memory: "MemoryAnswer", width: int, folded: Sequence[str] = ()) -> "Text":
    from rich.text import Text

    cell = Text(shortened(memory.content, width * _LINES))
    cell.append(f"\n{plain(filed(memory))}", style="dim")
    if folded:
        ids = ", ".join(shown_id(item, console().width) for item in folded)
        cell.append(f"\n{len(folded)} more near-equal: {ids}", style="dim")
    return cell


def filed(memory: "MemoryAnswer") -> str:
    """A memory's id, type, place, tags and state, on one line."""
    scope = "/".join(part for part in (memory.org, memory.project) if part)
    state = "" if memory.state == "indexed" else memory.state.value
    shown = shown_id(memory.id, console().width)
    return " · ".join(one_line(part) for part in (shown, memory.type, scope, ", ".join(memory.tags), state) if part)


def shortened(text: str, width: int) -> str:
    """The start of a text that fits in `width` characters, on one line."""
    line = one_line(text)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def detail(memory: "MemoryDetail") -> None:
    show(table("", "", rows=_facts(memory)))
    print(textwrap.indent(plain(memory.content), "  "))


def _facts(memory: "MemoryDetail") -> Iterable[tuple[str, str]]:
    facts = {
        "id": memory.id,
        "state": f"{memory.state.value}{f' ({memory.reason.value})' if memory.reason else ''}",
        "title": memory.title,
        "other names": ", ".join(memory.aliases),
        "type": memory.type.value,
        "scope": memory.memory_scope.value,
        "org": memory.org,
        "project": memory.project,
        "agent": memory.agent_id,
        "session": memory.session_id,
        "tags": ", ".join(memory.tags),
        "source": memory.source,
        "confidence": f"{memory.confidence:g}",
        "version": memory.version,
        "happened": moment(memory.occurred_at),
        "created": moment(memory.created_at),
        "expires": moment(memory.expires_at),
        "supersedes": memory.supersedes_id,
        "error": memory.index_error,
    }
    return [(name, one_line(str(value))) for name, value in facts.items() if value]


def history(lines: "Sequence[HistoryLine]") -> None:
    rows = ((moment(line.at), line.version, line.action, one_line(line.actor), one_line(line.reason)) for line in lines)
    show(table("when", "version", "what", "who", "why", rows=rows))


def lineage(chain: "Lineage") -> None:
    if chain.parents or chain.children:
        print(f"before it: {', '.join(chain.parents) or 'nothing'}")
        print(f"after it:  {', '.join(chain.children) or 'nothing'}")


def related(links: "Related") -> None:
    width = max(20, console().width - 14)
    kinds = (("nearest", links.nearest), ("same session", links.session), ("same name", links.named))
    rows = [(kind, _cell(memory, width)) for kind, memories in kinds for memory in memories]
    if rows:
        show(table("link", "memory", rows=rows))
    lineage(links.chain)


def around(turns: "Mapping[str, Sequence[TurnBeside]]") -> None:
    for hit, beside in turns.items():
        print(f"around {shown_id(hit, console().width)}:")
        for turn in beside:
            speaker = f" {one_line(turn.speaker)}:" if turn.speaker else ""
            print(textwrap.indent(plain(f"{turn.turn}{speaker} {shortened(turn.content, 400)}"), "  "))


def explained(memories: "Sequence[MemoryAnswer]", parts: "Mapping[str, Explanation]") -> None:
    """Show how the scores came about, in the order of the results."""
    rows = (
        (f"{part.boosted:.3f}", f"{one_line(memory.id)}\n{_reasons(part)}")
        for memory in memories
        if (part := parts.get(memory.id)) is not None
    )
    show(table("score", "why", rows=rows))


def _reasons(part: "Explanation") -> str:
    scores = f"keywords {_share(part.text)} + vectors {_share(part.vectors)} = {part.fused:.3f}"
    late = f"word by word {_share(part.late)}"
    beside = (
        f"neighbours {part.neighbours:.3f}, name {part.named:.3f}, time {part.time:.3f}, project {part.project:.3f}"
    )
    details = f"bucket {part.bucket}, {part.scope.value}, confidence now {part.effective_confidence:.2f}"
    return "\n".join((scores, f"{late}, {beside}", details))


def _share(share: "IndexShare | None") -> str:
    """Weight x normalised score, and the rank in that index's list."""
    return "-" if share is None else f"{share.weight:.2f} x {share.normalised:.3f} (#{share.rank})"
