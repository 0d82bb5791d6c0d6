"""streams: shows their state, and lets operators manage their groups."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.operators.operations import failed, followed
from openbrain_cli.operators.refreshing import refreshed, repeated
from openbrain_cli.operators.streams.service_groups import prepare
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import age, as_json, as_json_line, console, one_line, say, table

if TYPE_CHECKING:
    from rich.table import Table

    from openbrain.client import OpenBrain
    from openbrain.contract.admin.streams import Buried, GroupAnswer, StreamList

app = new_app(invoke_without_command=True, help="State of the streams and their groups. Needs an operator's key.")
groups = new_app(no_args_is_help=True, help="Create the services' groups, or register readers other than services.")
groups.command("prepare")(prepare)
app.add_typer(groups, name="groups")

OneStream = Annotated[str, typer.Option("--stream", help="Only this stream.")]
Watch = Annotated[bool, typer.Option("--watch", help="Refresh until Ctrl-C.")]
Every = Annotated[float, typer.Option("--every", min=0.2, help="Seconds between refreshes.")]
StreamName = Annotated[str, typer.Argument(metavar="STREAM", help="Name of a stream, as in `openbrain streams`.")]
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="Name of a group, as in `openbrain streams`.")]
EntryId = Annotated[str, typer.Argument(metavar="ENTRY", help="The entry's id, such as 1795333556767-0.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, kept with it.")]
AtEnd = Annotated[bool, typer.Option("--at-end", help="Start a new group after the stream's current entries.")]
Destroy = Annotated[
    bool, typer.Option("--destroy", help="Also remove the group from the server, with its pending entries.")
]


@app.callback()
@command(
    "openbrain streams",
    "openbrain streams --watch --every 1",
    "openbrain streams --stream memory.stored --json",
    "openbrain streams pause embedder --reason 'the model is moved'",
)
def streams(
    context: typer.Context,
    to: Connection,
    *,
    stream: OneStream = "",
    watch: Watch = False,
    every: Every = 2.0,
    json: AsJson = False,
) -> None:
    """Show each stream and group: waiting entries (lag), delivered ones in work (pending), their age, dead letters.

    Lag is exact, even where the server does not know it. Needs an operator's key.
    """
    if context.invoked_subcommand is not None:
        return
    if watch:
        to.ask(lambda brain: _watched(brain, stream, every, json=json), admin=True)
        return
    listing = to.ask(lambda brain: brain.streams(stream), admin=True)
    if json:
        as_json(listing)
    else:
        console().print(_table(listing))


async def _watched(brain: "OpenBrain", stream: str, every: float, *, json: bool) -> None:
    """Print one JSON document per line, or refresh a table."""

    async def line() -> None:
        as_json_line(await brain.streams(stream))

    async def view() -> "Table":
        return _table(await brain.streams(stream))

    await (repeated(line, every) if json else refreshed(view, every, console()))


def _table(listing: "StreamList") -> "Table":
    return table("stream", "lag", "pending", "oldest", "dead", "group", rows=_rows(listing))


def _rows(listing: "StreamList") -> Iterator[tuple[str, ...]]:
    for stream in listing.streams:
        if not stream.groups and stream.length:
            yield stream.name, "", "", "", "", f"nobody reads it; {stream.length} entries"
        for group in stream.groups:
            oldest = group.oldest_pending_s if group.oldest_undelivered_s is None else group.oldest_undelivered_s
            numbers = (str(group.lag), str(group.pending), age(oldest), str(group.dead_letters))
            yield stream.name, *numbers, " · ".join(_about(group))


def _about(group: "GroupAnswer") -> Iterable[str]:
    yield one_line(group.name)
    if group.readers != "service":
        yield group.readers.value
    if group.paused:
        yield "paused"
    if not group.exists:
        yield "not on the server"
    elif group.readers == "service" and not group.consumers and not group.paused:
        yield "nobody reads"
    if group.parked:
        yield f"{group.parked} parked" + (f", next in {age(group.due[0].due_in_s)}" if group.due else "")
    if group.replaying:
        yield f"{group.replaying} of a replay"


@app.command()
@command("openbrain streams pause embedder --reason 'the model is moved'")
def pause(group: GroupName, *, to: Connection, reason: Reason = "", json: AsJson = False) -> None:
    """Pause a service with all its replicas until it is resumed. Its entries wait, and none is lost.

    The pause survives restarts. Pending and parked entries stay so; the service is ready, and reports the pause.
    """
    made = to.ask(lambda brain: brain.pause_group(group, reason=reason), admin=True)
    as_json(made) if json else print(f"{made.group}  paused")


@app.command()
@command("openbrain streams resume embedder")
def resume(group: GroupName, *, to: Connection, json: AsJson = False) -> None:
    """Resume a paused service; each replica continues within seconds."""
    made = to.ask(lambda brain: brain.resume_group(group), admin=True)
    as_json(made) if json else print(f"{made.group}  resumed")


@app.command()
@command("openbrain streams bury memory.stored embedder 1795333556767-0 --reason 'the model crashes on it'")
def bury(
    stream: StreamName,
    group: GroupName,
    entry: EntryId,
    *,
    to: Connection,
    reason: Annotated[str, typer.Option("--reason", help="Reason; the dead letter keeps it, and who did it.")],
    json: AsJson = False,
) -> None:
    """Move one stuck entry of a group to its dead letters. `openbrain dead replay` brings it back."""
    done = to.ask(lambda brain: _buried(brain, stream, group, entry, reason), admin=True)
    if json:
        as_json(done)
    failed(done.operation)
    if not json:
        print(f"{entry}  {done.operation.result['became']}")


async def _buried(brain: "OpenBrain", stream: str, group: str, entry: str, reason: str) -> "Buried":
    queued = await brain.bury(stream, group, entry, reason)
    return queued.model_copy(update={"operation": await followed(brain, queued.operation.id)})


@groups.command()
@command("openbrain streams groups add memory.stored warehouse --reason 'the nightly load' --at-end")
def add(
    stream: StreamName,
    group: GroupName,
    *,
    to: Connection,
    reason: Reason = "",
    at_end: AtEnd = False,
    json: AsJson = False,
) -> None:
    """Register an external reader: from now on its stream keeps what it has not read."""
    made = to.ask(lambda brain: brain.register_group(stream, group, reason=reason, at_end=at_end), admin=True)
    if json:
        as_json(made)
    else:
        print(f"{made.stream}  {made.group}  registered")
        say("a registered group that nobody reads keeps its stream from being trimmed")


@groups.command()
@command("openbrain streams groups remove memory.stored warehouse --destroy")
def remove(
    stream: StreamName, group: GroupName, *, to: Connection, destroy: Destroy = False, json: AsJson = False
) -> None:
    """Unregister a reader: its stream is trimmed even if it has not read everything."""
    removed = to.ask(lambda brain: brain.unregister_group(stream, group, destroy=destroy), admin=True)
    as_json(removed) if json else print(
        f"{removed.stream}  {removed.group}  {'destroyed' if removed.destroyed else 'removed'}"
    )
