"""top: shows what the pipeline does, refreshed continuously."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, as_json_line, console, say

if TYPE_CHECKING:
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
    """Retry while the API is away."""
    from openbrain.domain.errors import TryLater
    from openbrain_cli.operators.top.look import as_dict, ask, look

    before: Raw | None = None
    while True:
        try:
            raw = await ask(brain)
        except TryLater as error:
            say(str(error))
        else:
            as_json_line(as_dict(look(raw, before)))
            before = raw
        await asyncio.sleep(every)


async def _live(brain: "OpenBrain", every: float) -> None:
    """Use the terminal's alternate screen, which is restored at the end. Retry while the API is away."""
    from rich.live import Live

    from openbrain.domain.errors import TryLater
    from openbrain_cli.operators.top.look import ask, look
    from openbrain_cli.operators.top.view import rendered

    out = console()
    before: Raw | None = None
    with Live(console=out, auto_refresh=False, screen=True) as live:
        while True:
            try:
                raw = await ask(brain)
            except TryLater as error:
                live.update(f"{error}\nretrying every {every:g} s; Ctrl-C ends it", refresh=True)
            else:
                live.update(rendered(look(raw, before), brain.url, out.height - HEAD_LINES), refresh=True)
                before = raw
            await asyncio.sleep(every)
