"""halt: stops every agent, and lets them continue."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import Conflict, Forbidden, Invalid, NotFound
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Org, Project, Speaking, given, refuse_empty
from openbrain_cli.output import as_json, moment, one_line, say, show, table

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.amygdala.signals import HaltAnswer, HaltStatus

app = new_app(no_args_is_help=True, help="Halt the fleet, see who has stopped, and resume it.")

Title = Annotated[list[str], typer.Argument(metavar="TITLE...", help="One line: why.")]
Content = Annotated[str, typer.Option("--content", help="What must be done before anyone continues.")]
Scope = Annotated[str, typer.Option("--scope", help="workspace, org or project.")]
Ttl = Annotated[int | None, typer.Option("--ttl", min=1, help="Seconds until it ends by itself.")]
Source = Annotated[str, typer.Option("--source", help="Origin of the halt; the key's name if left out.")]
HaltId = Annotated[
    str | None, typer.Argument(metavar="[ID]", help="Id of a halt, as in `halt status`; else the open one.")
]
KeepSignal = Annotated[bool, typer.Option("--keep-signal", help="Leave its signal open: the problem still exists.")]
MaybeHaltId = Annotated[
    str, typer.Argument(metavar="[ID]", help="Id of a halt, as in `halt status`; else all open ones.")
]
Note = Annotated[str, typer.Option("--note", help="Note, kept with it.")]
Within = Annotated[
    int | None, typer.Option("--within", min=1, help="Agents seen in the last so many seconds count as listening.")
]
Every = Annotated[bool, typer.Option("--all", help="Also list halts that have ended.")]
NAMED = 20
OPEN = "open"


@app.command("raise")
@command(
    "openbrain halt raise 'wrong prices are live' --content 'nobody deploys until the price table is mended'",
    "openbrain halt raise 'the shop migrates' --scope project --org acme --project shop --ttl 3600",
)
def raise_halt(
    title: Title,
    *,
    to: Speaking,
    content: Content = "",
    scope: Scope = "workspace",
    org: Org = None,
    project: Project = None,
    ttl: Ttl = None,
    source: Source = "",
    json: AsJson = False,
) -> None:
    """Halt everyone in the scope: raise a nuclear signal, which every agent receives and whose guard stops it.

    The halt lasts until it is resumed or its time is over: neither quiet nor resolving the signal ends it.
    """
    refuse_empty(scope=scope, org=org, project=project)
    fields = given(content=content, scope=scope, org=org, project=project, ttl_s=ttl, source=source)
    made = to.ask(lambda brain: brain.raise_halt(title=" ".join(title), **fields))
    if json:
        as_json(made)
    if made.halt is not None and made.halt.state.value != OPEN:
        raise Conflict(
            f"nobody halts: the halt of this cause, {made.halt.id}, was {made.halt.state.value}, and its signal is "
            f"open. Resolve it (openbrain signals resolve {made.halt.signal_id}), then raise the halt again"
        )
    if json:
        return
    if made.halt is not None:
        print(f"{made.halt.id}  {made.halt.state.value}  {made.halt.scope.value}")
        say(f"see who has stopped: openbrain halt status {made.halt.id}")
    else:
        print(made.status.value)


@app.command()
@command("openbrain halt status", "openbrain halt status 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --within 600 --json")
def status(
    to: Speaking, *, halt_id: MaybeHaltId = "", within: Within = None, every: Every = False, json: AsJson = False
) -> None:
    """Show the open halts; for one halt, who has stopped and who of those listening has not."""
    if halt_id:
        answer = to.ask(lambda brain: brain.halt(halt_id, within_s=within))
        as_json(answer) if json else _stands(answer)
        return
    listed = to.ask(lambda brain: brain.halts(state=() if every else ("open",), limit=100))
    if json:
        as_json(listed)
    elif listed.halts:
        show(table("raised", "state", "halt", rows=_rows(listed.halts)))
    else:
        say("nobody is halted" if not every else "there were no halts")


def _rows(halts: "Iterable[HaltAnswer]") -> Iterator[tuple[str, ...]]:
    for halt in halts:
        scope_path = "/".join(part for part in (halt.scope.value, halt.org, halt.project) if part)
        about = f"{one_line(halt.title)}\n{halt.id}\n{one_line(scope_path)} · {one_line(halt.raised_by)}"
        yield moment(halt.raised_at), halt.state.value, about


def _stands(halt: "HaltStatus") -> None:
    show(table("raised", "state", "halt", rows=_rows([halt])))
    print(f"{len(halt.acks)} stopped, {len(halt.missing)} of {halt.listening} that listen have not")
    for name in halt.missing[:NAMED]:
        print(f"  not yet: {one_line(name)}")
    if len(halt.missing) > NAMED:
        print(f"  and {len(halt.missing) - NAMED} more")


@app.command()
@command("openbrain halt resume", "openbrain halt resume 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --note 'mended'")
def resume(
    halt_id: HaltId = None, *, to: Speaking, note: Note = "", keep_signal: KeepSignal = False, json: AsJson = False
) -> None:
    """Let everyone continue, and resolve the halt's signal. Needs a key with the permission admin in this workspace."""
    if halt_id == "":
        raise Invalid("ID", "is empty: name the halt, or leave it out for the open one")

    async def resumed(brain: "OpenBrain") -> "HaltAnswer | None":
        one = halt_id or await _standing(brain)
        if not one:
            return None
        made = await brain.resume_halt(one, note=note)
        if not keep_signal:
            try:
                await brain.resolve_signal(made.signal_id, note=note)
            except (Conflict, Forbidden, NotFound) as error:
                say(f"note: everyone may continue, but the signal {made.signal_id} stays as it is: {error}")
        return made

    made = to.ask(resumed)
    if made is None:
        as_json({"id": None, "state": None}) if json else say("nobody is halted: there is nothing to resume")
        return
    as_json(made) if json else print(f"{made.id}  {made.state.value}")


async def _standing(brain: "OpenBrain") -> str:
    """Id of the only open halt; '' if there is none."""
    open_halts = (await brain.halts(state=("open",), limit=NAMED)).halts
    if len(open_halts) > 1:
        which = "; ".join(f"{open_halt.id} ({one_line(open_halt.title)})" for open_halt in open_halts)
        raise Invalid("ID", f"{len(open_halts)} halts are open: say which. {which}")
    return open_halts[0].id if open_halts else ""
