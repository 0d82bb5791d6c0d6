"""top: shows what the pipeline does, refreshed continuously."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.refreshing import refreshed, repeated
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, as_json_line, console

if TYPE_CHECKING:
    from rich.console import RenderableType

    from openbrain.client import OpenBrain
    from openbrain_cli.operators.top.look import Raw

HEAD_LINES = 11
"""Lines around the rows of the table."""

Once = Annotated[bool, typer.Option("--once", help="Print once, with every group, and exit.")]
Every = Annotated[float, typer.Option("--every", min=0.2, help="Seconds between refreshes.")]


@command("openbrain top", "openbrain top --once --json | jq '.groups[] | select(.lag > 1000)'")
def top(to: Connection, *, once: Once = False, every: Every = 2.0, json: AsJson = False) -> None:
    """Show the state of the pipeline until Ctrl-C: replicas; what waits, is retried or died in each stream and group;
    recalls and the outbox. Problems come first.

    Recalls are those of the API replica that answered, since the previous refresh. With --json, print one document per
    line. Needs an operator's key.
    """
    if once:
        to.ask(lambda brain: _once(brain, json=json), admin=True)
    elif json:
        to.ask(lambda brain: _lines(brain, every), admin=True)
    else:
        to.ask(lambda brain: _live(brain, every), admin=True)


async def _once(brain: "OpenBrain", *, json: bool) -> None:
    from openbrain_cli.operators.top.look import as_dict, ask, look
    from openbrain_cli.operators.top.view import rendered

    sample = look(await ask(brain), None)
    as_json(as_dict(sample)) if json else console().print(rendered(sample, brain.url))


async def _lines(brain: "OpenBrain", every: float) -> None:
    from openbrain_cli.operators.top.look import as_dict, ask, look

    before: Raw | None = None

    async def line() -> None:
        nonlocal before
        raw = await ask(brain)
        as_json_line(as_dict(look(raw, before)))
        before = raw

    await repeated(line, every)


async def _live(brain: "OpenBrain", every: float) -> None:
    """In a terminal show as many rows as it has lines; else, as in a pipe, every group."""
    from openbrain_cli.operators.top.look import ask, look
    from openbrain_cli.operators.top.view import rendered

    out = console()
    before: Raw | None = None

    async def view() -> "RenderableType":
        nonlocal before
        raw = await ask(brain)
        seen, before = look(raw, before), raw
        return rendered(seen, brain.url, out.height - HEAD_LINES if out.is_terminal else None)

    await refreshed(view, every, out, screen=True)
