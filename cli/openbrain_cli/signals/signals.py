"""signals: raises, lists, acknowledges, resolves and follows signals."""

from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Limit, Org, Project, Since, Speaking, file_text, given, refuse_empty
from openbrain_cli.output import as_json, as_json_line, moment, one_line, say, show, table
from openbrain_cli.signals.watch import reconnecting

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.client.resources.signals import News
    from openbrain.contract.amygdala.broadcasts import AmygdalaState
    from openbrain.contract.amygdala.signals import SignalAnswer

app = new_app(no_args_is_help=True, help="Signals: alarms that every agent of the workspace receives.")

Title = Annotated[list[str], typer.Argument(metavar="TITLE...", help="The problem, in one line.")]
Source = Annotated[str, typer.Option("--source", help="Its origin: a service, a host, a check.")]
SeverityOption = Annotated[str, typer.Option("--severity", help="info, warning, critical or nuclear.")]
Content = Annotated[str, typer.Option("--content", help="What is known, and what to do.")]
File = Annotated[Path | None, typer.Option("--file", help="Read the content from this file.")]
DedupKey = Annotated[str, typer.Option("--dedup-key", help="Raises of one source with the same key are one signal.")]
Ttl = Annotated[int | None, typer.Option("--ttl", min=1, help="Seconds until it expires by itself.")]
HaltToo = Annotated[bool, typer.Option("--halt", help="Also halt everyone; nuclear does so without this.")]
HaltScope = Annotated[str | None, typer.Option("--halt-scope", help="workspace, org or project.")]
Key = Annotated[str, typer.Option("--idempotency-key", help="Repeating a key raises nothing again.")]
SignalId = Annotated[str, typer.Argument(metavar="ID", help="Id of a signal, as `signals list` shows it.")]
Note = Annotated[str, typer.Option("--note", help="Note, kept with it.")]
States = Annotated[list[str] | None, typer.Option("--state", help="active, acknowledged, resolved ...; repeatable.")]
MinSeverity = Annotated[str | None, typer.Option("--min-severity", help="Only this severity or worse.")]
FromSource = Annotated[str | None, typer.Option("--source", help="Only from this source.")]
After = Annotated[int | None, typer.Option("--after", min=0, help="Also broadcasts after this number.")]
Seconds = Annotated[int | None, typer.Option("--seconds", min=0, help="Seconds until it ends; else until Ctrl-C.")]
OPEN = ("active", "escalated", "acknowledged")


@app.command("raise")
@command(
    "openbrain signals raise 'disk of db-1 is at 97 %' --source db-1 --severity warning",
    "openbrain signals raise 'wrong prices are live' --source shop --severity critical --file what-happened.md",
)
def raise_signal(
    title: Title,
    *,
    to: Speaking,
    source: Source,
    severity: SeverityOption = "warning",
    content: Content = "",
    file: File = None,
    dedup_key: DedupKey = "",
    ttl: Ttl = None,
    halt: HaltToo = False,
    halt_scope: HaltScope = None,
    org: Org = None,
    project: Project = None,
    idempotency_key: Key = "",
    json: AsJson = False,
) -> None:
    """Raise a signal. Every agent of the workspace receives it, within a quarter of a second if it is connected.

    Raising it again while it is open counts it on the same signal. nuclear halts the fleet: see `openbrain halt`.
    """
    if halt or severity == "nuclear":  # without its scope it would halt everyone; another alarm is rather raised
        refuse_empty(**{"halt-scope": halt_scope, "org": org, "project": project})
    text = content if file is None else file_text(file)
    fields = given(content=text, dedup_key=dedup_key, ttl_s=ttl, halt_scope=halt_scope, org=org, project=project)
    fields |= {"halt": True} if halt else {}
    made = to.ask(
        lambda brain: brain.raise_signal(
            source=source,
            severity=severity,
            title=" ".join(title),
            idempotency_key=idempotency_key,
            **fields,
        )
    )
    if json:
        as_json(made)
        return
    if made.signal is not None:
        print(f"{made.signal.id}  {made.status.value}  {made.signal.broadcast_severity.value}  x{made.signal.count}")
    else:
        print(made.status.value)
    if made.halt is not None and made.halt.state.value == "open":
        say(f"the fleet is halted ({made.halt.scope.value}): openbrain halt resume {made.halt.id}")


@app.command("list")
@command("openbrain signals list", "openbrain signals list --all --since 2026-11-01 --json")
def list_signals(
    to: Speaking,
    *,
    state: States = None,
    every: Annotated[bool, typer.Option("--all", help="Also list those that have ended.")] = False,
    min_severity: MinSeverity = None,
    source: FromSource = None,
    org: Org = None,
    project: Project = None,
    since: Since = None,
    limit: Limit = 20,
    json: AsJson = False,
) -> None:
    """List the open signals, newest first."""
    states = state or (None if every else list(OPEN))
    wanted = given(state=states, min_severity=min_severity, source=source, org=org, project=project, since=since)
    page = to.ask(lambda brain: brain.signals(limit=limit, **wanted))
    if json:
        as_json(page)
    elif page.signals:
        show(table("raised", "severity", "signal", rows=_rows(page.signals)))
    else:
        say("no signal is open" if not every and not state else "there are no such signals")


def _rows(signals: "Iterable[SignalAnswer]") -> Iterator[tuple[str, ...]]:
    for signal in signals:
        scope_path = "/".join(part for part in (signal.org, signal.project) if part)
        about = " · ".join(
            one_line(part) for part in (signal.state.value, signal.source, scope_path, f"x{signal.count}") if part
        )
        cell = f"{one_line(signal.title)}\n{signal.id}\n{about}"
        yield moment(signal.first_raised_at), signal.broadcast_severity.value, cell


@app.command("show")
@command("openbrain signals show 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def show_signal(signal_id: SignalId, *, to: Speaking) -> None:
    """Show one signal in full, as JSON: who has seen it, and what happened to it."""
    as_json(to.ask(lambda brain: brain.signal(signal_id)))


@app.command()
@command("openbrain signals ack 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --note 'on it'")
def ack(signal_id: SignalId, *, to: Speaking, note: Note = "", json: AsJson = False) -> None:
    """Acknowledge a signal: it no longer escalates, and may end by itself when it is quiet."""
    made = to.ask(lambda brain: brain.acknowledge_signal(signal_id, note=note))
    as_json(made) if json else print(f"{made.id}  {made.state.value}")


@app.command()
@command("openbrain signals resolve 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --note 'the disk was swapped'")
def resolve(signal_id: SignalId, *, to: Speaking, note: Note = "", json: AsJson = False) -> None:
    """Resolve a signal. A halt that it opened lasts until it is resumed."""
    made = to.ask(lambda brain: brain.resolve_signal(signal_id, note=note))
    as_json(made) if json else print(f"{made.id}  {made.state.value}")


@app.command()
@command("openbrain signals watch", "openbrain signals watch --after 120 --json", "openbrain signals watch --seconds 0")
def watch(
    to: Speaking,
    *,
    after: After = None,
    seconds: Seconds = None,
    org: Org = None,
    project: Project = None,
    json: AsJson = False,
) -> None:
    """Show the current state, then each broadcast, until Ctrl-C. Reconnects by itself, and misses nothing."""
    scope = given(org=org, project=project)
    to.ask(lambda brain: _follow(brain, after, seconds, scope, json=json))


async def _follow(
    brain: "OpenBrain", cursor: int | None, seconds: int | None, scope: dict[str, str], *, json: bool
) -> None:
    from openbrain.contract.amygdala.broadcasts import AmygdalaState, BroadcastAnswer

    def connect() -> "AsyncIterator[News]":
        return brain.hear(cursor, seconds=seconds, **scope)

    async for news in reconnecting(connect, once=seconds is not None):
        match news:
            case None:
                continue
            case AmygdalaState(seq=seq):
                cursor = seq if cursor is None or cursor > seq else cursor
            case BroadcastAnswer(seq=seq):
                cursor = seq
            case _:
                cursor = news.last
        as_json_line(news) if json else _print(news)


def _print(news: "News") -> None:
    from openbrain.contract.amygdala.broadcasts import AmygdalaState, BroadcastAnswer

    match news:
        case AmygdalaState():
            _print_state(news)
        case BroadcastAnswer():
            data = news.event["data"]
            halt = f"  HALT {data['halt_state']}" if data.get("halt_state") else ""
            about = (
                f"{data['severity']:8}  {data['change']:12}  {one_line(data['title'])}  ({one_line(data['source'])})"
            )
            print(f"{news.seq:>6}  {about}{halt}  {data['signal_id']}")


def _print_state(state: "AmygdalaState") -> None:
    say(f"at {state.seq}: {len(state.signals)}{' or more' if state.more else ''} open, {len(state.halts)} halts")
    for signal in state.signals:
        stands = f"{signal.broadcast_severity.value:8}  {signal.state.value:12}"
        print(f"{signal.seq:>6}  {stands}  {one_line(signal.title)}  {signal.id}")
    for halt in state.halts:
        print(f"{halt.seq:>6}  HALT {halt.scope.value}  {one_line(halt.title)}  {halt.id}")
