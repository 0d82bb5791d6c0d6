"""reindex: rebuilds an index, or writes memories again in place."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid, OpenBrainError
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Connection, Org, Project, given, given_time, refuse_empty
from openbrain_cli.output import as_json, bar, one_line, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.indexes import Reindexed
    from openbrain.contract.admin.operations import OperationAnswer

Text = Annotated[bool, typer.Option("--text", help="Only the full-text index.")]
Vectors = Annotated[bool, typer.Option("--vectors", help="Only the vector index.")]
InPlace = Annotated[bool, typer.Option("--in-place", help="Write memories again, into the existing index.")]
Tenant = Annotated[str | None, typer.Option("--workspace", help="Only this workspace, in place.")]
Changed = Annotated[
    datetime | None,
    typer.Option(
        "--since",
        parser=given_time,
        metavar="TIME",
        help="Only memories that changed at this time or later (UTC), in place.",
    ),
]
Stale = Annotated[bool, typer.Option("--stale", help="Only memories not known to be in the index, in place.")]
ReEmbed = Annotated[bool, typer.Option("--re-embed", help="Call the model even for vectors that are known.")]
Rate = Annotated[int | None, typer.Option("--rate", min=1, help="Maximum number of memories per second.")]
MaxFailures = Annotated[int, typer.Option("--max-failures", min=0, help="Switch even if this many can't be written.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show the number of memories.")]
Detach = Annotated[bool, typer.Option("--detach", help="Start it, and do not wait for its end.")]


@command(
    "openbrain reindex",
    "openbrain reindex --text --rate 500",
    "openbrain reindex --vectors --re-embed",
    "openbrain reindex --stale --workspace team-a",
)
def reindex(
    to: Connection,
    *,
    text: Text = False,
    vectors: Vectors = False,
    in_place: InPlace = False,
    workspace: Tenant = None,
    org: Org = None,
    project: Project = None,
    since: Changed = None,
    stale: Stale = False,
    re_embed: ReEmbed = False,
    rate: Rate = None,
    max_failures: MaxFailures = 0,
    dry_run: DryRun = False,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Rebuild the search indexes from the database while the old ones answer, or write some memories again.

    A new index is filled while the old one serves; when both have been compared, the new one serves. The old one is
    kept up to date: `openbrain index list` shows both, `index switch` switches back, `index drop` removes it. Ctrl-C
    stops watching, not the work: `openbrain operations cancel` does that.
    """
    if re_embed and text and not vectors:
        raise Invalid("", "--re-embed applies to vectors: leave --text out")
    refuse_empty(workspace=workspace, org=org, project=project)
    wanted = [name for name, chosen in (("text", text), ("vector", vectors)) if chosen] or ["text", "vector"]
    how = given(workspace_id=workspace, org=org, project=project, since=since, rate=rate)
    how |= given(stale=stale or None, in_place=in_place or None, max_failures=max_failures or None)

    async def work(brain: "OpenBrain") -> "list[Reindexed]":
        return await _all(brain, wanted, how, re_embed=re_embed, dry_run=dry_run, wait=not detach, quiet=json)

    done = to.ask(work, admin=True)
    if json:
        as_json(done)
    for item in done:
        if not json:
            print(_summary(item))
        if item.operation is not None and item.operation.status.value in {"failed", "cancelled"}:
            from openbrain_cli.operators.operations import failed

            failed(item.operation)


async def _all(
    brain: "OpenBrain",
    wanted: list[str],
    how: Mapping[str, Any],
    *,
    re_embed: bool,
    dry_run: bool,
    wait: bool,
    quiet: bool,
) -> "list[Reindexed]":
    """Start all operations, which run in parallel, then follow one after the other."""
    queued: list[Reindexed] = []
    for index in wanted:
        more: dict[str, Any] = {"re_embed": True} if re_embed and index == "vector" else {}
        with _telling_started(queued):
            queued.append(await brain.reindex(index, dry_run=dry_run, **how, **more))
    if dry_run or not wait:
        return queued
    ended = []
    for item in queued:
        if item.operation is None:
            continue
        if not quiet:
            say(f"{item.index.value}: operation {item.operation.id}")
        ended.append(item.model_copy(update={"operation": await _followed(brain, item.operation.id, item.index.value)}))
    return ended


@contextmanager
def _telling_started(queued: "Sequence[Reindexed]") -> Iterator[None]:
    """If the next operation is refused, say which ones go on without it."""
    try:
        yield
    except OpenBrainError:
        for item in queued:
            if item.operation is not None:
                say(f"{item.index.value}: operation {item.operation.id} goes on")
        raise


async def _followed(brain: "OpenBrain", operation_id: str, index: str) -> "OperationAnswer":
    """Follow an operation to its end, with a progress bar on stderr if that is a terminal."""
    from rich.progress import TimeElapsedColumn

    from openbrain_cli.operators.operations import outliving

    with outliving(operation_id), bar(TimeElapsedColumn()) as shown:
        task = shown.add_task(index, total=None)
        async for state in brain.watch(operation_id):
            phase = one_line(str(state.result.get("waits_for") or state.result.get("phase") or ""))
            shown.update(task, description=f"{index} {phase}"[:60], completed=state.done, total=state.total)
            ended = state
    return ended


def _summary(reindexed: "Reindexed") -> str:
    where = "again in place" if reindexed.in_place else "into a new index"
    if reindexed.operation is None:
        return f"{reindexed.index.value}: {reindexed.total} memories would be written {where}"
    result = reindexed.operation.result
    if reindexed.operation.status.value != "done":
        return f"{reindexed.index.value}: {reindexed.operation.status.value}, operation {reindexed.operation.id}"
    name = result.get("generation", {}).get("name")
    serves = f"; {one_line(str(name))} serves" if name else ""
    return (
        f"{reindexed.index.value}: {reindexed.operation.total} memories {where}, {result.get('successes')} written, "
        f"{result.get('failures')} failed, {result.get('seconds')} s{serves}"
    )
