"""replay: delivers entries that a stream has kept to its services again."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.operations import failed, followed
from openbrain_cli.options import AGO, AsJson, Connection, given, given_moment, refuse_empty
from openbrain_cli.output import as_json, moment, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.streams import Replayed

StreamName = Annotated[str, typer.Argument(metavar="STREAM", help="Name of a stream, as in `openbrain streams`.")]


def place(written: str) -> str:
    """Return an entry's id or a time unchanged, and a duration such as `24h` as the time that long ago."""
    return given_moment(written) if AGO.fullmatch(written.strip()) else written


From = Annotated[
    str | None,
    typer.Option("--from", parser=place, metavar="ID|TIME", help="An entry's id, a time (2026-11-22T07:00Z), or 24h."),
]
To = Annotated[
    str | None,
    typer.Option("--to", parser=place, metavar="ID|TIME", help="The same, inclusive; the last entry if left out."),
]
Group = Annotated[
    str | None, typer.Option("--group", help="Only this service; every service of the stream if left out.")
]
Rate = Annotated[int | None, typer.Option("--rate", min=1, help="Maximum number of entries per second.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show how many, and where the stream begins.")]
Detach = Annotated[bool, typer.Option("--detach", help="Start it, and do not wait for its end.")]


@command(
    "openbrain replay memory.stored --dry-run",
    "openbrain replay memory.stored --from 2026-11-22T07:00:00Z --group indexer-text",
    "openbrain replay memory.submitted --from 1795333556767-0 --to 1795333600000-0 --rate 200",
)
def replay(
    stream: StreamName,
    *,
    to: Connection,
    begin: From = None,
    end: To = None,
    group: Group = None,
    rate: Rate = None,
    dry_run: DryRun = False,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Deliver what a stream has kept to its services again. Live entries go first, and nothing else is disturbed.

    A stream keeps entries that were read for its retention time only; the output says where the stream begins. Handling
    an entry twice does no harm. Ctrl-C stops watching, not the work: `openbrain operations cancel` does that. Needs an
    operator's key.
    """
    refuse_empty(**{"from": begin, "to": end}, group=group)
    which = given(begin=begin, end=end, group=group, rate=rate)

    async def work(brain: "OpenBrain") -> "Replayed":
        queued = await brain.replay(stream, dry_run=dry_run, **which)
        if queued.operation is None or detach:
            return queued
        return queued.model_copy(update={"operation": await followed(brain, queued.operation.id)})

    done = to.ask(work, admin=True)
    as_json(done) if json else _show(done)
    if done.operation is not None and not detach:
        failed(done.operation)


def _show(done: "Replayed") -> None:
    begins = f"begins at {done.begins_id} ({moment(done.begins_at)})" if done.begins_id else "is empty"
    say(f"{done.stream} {begins}")
    readers = ", ".join(done.groups)
    if done.operation is None:
        print(f"{done.count} entries would be replayed to {readers}")
    elif done.operation.status.ended:
        print(f"{done.operation.done} deliveries to {readers}  ({done.operation.status.value})")
    else:
        print(f"{done.count} entries are replayed to {readers}: openbrain operations watch {done.operation.id}")
