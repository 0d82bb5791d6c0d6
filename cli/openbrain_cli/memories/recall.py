"""recall, list and show."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.memories.display import NOTHING, NOTHING_CLOSE
from openbrain_cli.memories.display.short_ids import whole_id
from openbrain_cli.memories.remember import MemoryId
from openbrain_cli.options import AsJson, Narrowed, Session, Speaking, given, given_moment
from openbrain_cli.output import as_json, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.brain.memories import MemoryAnswer, MemoryDetail
    from openbrain.contract.brain.memories import Related as Linked

_PAGE = 100

Top = Annotated[int, typer.Option("--top-k", "-k", min=1, max=100, help="Maximum number of results.")]
Limit = Annotated[int, typer.Option("--limit", "-n", "-k", min=1, help="Maximum number of memories.")]
Keywords = Annotated[list[str] | None, typer.Option("--keyword", help="Word that raises the score; repeatable.")]
Explain = Annotated[bool, typer.Option("--explain", help="Show how each score and rank came about.")]
Names = Annotated[bool, typer.Option("--names", help="Only memories whose title or alias is in the question.")]
Precision = Annotated[
    Literal["exact", "balanced", "recall"] | None,
    typer.Option(
        help="exact: only close results. balanced, the default unless set otherwise: no results if even the best is "
        "not close. recall: all results."
    ),
]
MinSimilarity = Annotated[float | None, typer.Option(min=0, max=1, help="Minimum similarity of a result.")]
Turns = Annotated[
    int, typer.Option("--around", min=0, max=10, help="Also show this many turns before and after a hit.")
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", parser=given_moment, metavar="TIME", help="Memories as of that time (UTC)."),
]
ByTime = Annotated[bool, typer.Option("--by-time", help="Sort by when things happened.")]
Related = Annotated[bool, typer.Option("--related", help="Also show similar ones, and those of its session or name.")]
AllEchoes = Annotated[bool, typer.Option("--no-fold", help="Show near-equal memories separately.")]
FromFile = Annotated[
    Path | None,
    typer.Option(help="File with a question per line, as text or JSON body; - reads standard input.", allow_dash=True),
]
History = Annotated[bool, typer.Option("--history", help="Also show its history and lineage.")]
Archived = Annotated[bool, typer.Option("--include-archived", help="Include archived memories.")]


@command(
    'openbrain recall "why did answers leak to other customers?"',
    'openbrain recall "deploy steps" --project shop --type procedure -k 3 --json',
    'openbrain recall "deploy steps" --explain',
    'openbrain recall "who paid for the licence?" --precision recall',
    'openbrain recall "what do we know of the billing service?" --names',
    'openbrain recall "what did she say of the trip?" --around 2',
    "openbrain recall --from-file questions.txt --project shop --json > answers.ndjson",
)
def recall(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORDS]...", help="A question, or a few words.")] = None,
    *,
    to: Speaking,
    narrowed: Narrowed,
    from_file: FromFile = None,
    top_k: Top = 10,
    keyword: Keywords = None,
    names: Names = False,
    precision: Precision = None,
    min_similarity: MinSimilarity = None,
    no_fold: AllEchoes = False,
    around: Turns = 0,
    as_of: AsOf = None,
    by_time: ByTime = False,
    explain: Explain = False,
    json: AsJson = False,
) -> None:
    """Find memories that bear on a question, best first."""
    query = " ".join(words or ())
    options = {"top_k": top_k, "keywords": keyword or (), "explain": explain, **narrowed.filters(to.profile)}
    options |= {"precision": precision, "min_similarity": min_similarity}
    options |= given(
        match="names" if names else None,
        fold=False if no_fold else None,
        around=around or None,
        as_of=as_of,
        order="time" if by_time else None,
    )
    if bool(query) == (from_file is not None):
        raise typer.BadParameter("either a question or --from-file", param_hint="QUERY")
    if from_file is not None:
        from openbrain_cli.memories import recall_batch

        recall_batch.recall_all(from_file, to, options, json=json)
        return
    answer = to.ask(lambda brain: brain.recall(query, **options))
    if answer.degraded:
        say(f"note: {' and '.join(answer.degraded)} did not answer; some memories may be missing")
    if json:
        as_json(answer)
        return
    from openbrain_cli.memories.display import rendering

    _print(answer.memories, NOTHING_CLOSE if answer.nothing_close else NOTHING, scored=True, folded=answer.folded)
    if answer.around:
        rendering.around(answer.around)
    if answer.explained:
        rendering.explained(answer.memories, answer.explained)


@command("openbrain list", "openbrain list --project shop --type decision -n 50", "openbrain list --json | jq .count")
def list_memories(
    to: Speaking, narrowed: Narrowed, limit: Limit = 20, include_archived: Archived = False, json: AsJson = False
) -> None:
    """List the newest memories."""
    filters = {**narrowed.filters(to.profile), "include_archived": include_archived}
    memories = to.ask(lambda brain: _pages(brain, limit, filters))
    if json:
        as_json({"memories": memories, "count": len(memories)})
    else:
        _print(memories, "there are no memories here yet: openbrain remember ..., or openbrain import")


async def _pages(brain: "OpenBrain", limit: int, filters: dict[str, Any]) -> "list[MemoryAnswer]":
    memories: list[MemoryAnswer] = []
    cursor: str | None = None
    while len(memories) < limit:
        page = await brain.memories(limit=min(_PAGE, limit - len(memories)), cursor=cursor, **filters)
        memories += page.memories
        cursor = page.next_cursor
        if cursor is None:
            break
    return memories


def _print(
    memories: "Sequence[MemoryAnswer]",
    otherwise: str,
    *,
    scored: bool = False,
    folded: Mapping[str, Sequence[str]] | None = None,
) -> None:
    from openbrain_cli.memories.display import rendering

    if memories:
        rendering.listed(memories, scored=scored, folded=folded or {})
    else:
        say(otherwise)


@command(
    "openbrain show 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --history",
    "openbrain show 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --related",
)
def show(
    memory_id: MemoryId,
    to: Speaking,
    history: History = False,
    related: Related = False,
    session: Session = "",
    json: AsJson = False,
) -> None:
    """Show one memory in full, whatever its state."""
    from openbrain_cli.memories.display import rendering

    async def ask_for(brain: "OpenBrain") -> "tuple[MemoryDetail, Linked | None]":
        whole = await whole_id(brain, memory_id, session_id=session)
        read = brain.memory_whole if history else brain.memory
        shown = await read(whole, session_id=session)
        return shown, await brain.related(whole, session_id=session) if related else None

    memory, links = to.ask(ask_for)
    if json:
        as_json({**memory.model_dump(mode="json"), "related": links} if links else memory)
        return
    rendering.detail(memory)
    if memory.history:
        rendering.history(memory.history)
    if memory.lineage:
        rendering.lineage(memory.lineage)
    if links:
        rendering.related(links)
