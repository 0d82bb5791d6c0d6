"""top: what the pipeline does now, again and again."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, as_json_line, console

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain_cli.operators.top.look import Raw

HEAD_LINES = 11
"""Around the rows of the table."""

Once = Annotated[bool, typer.Option("--once", help="One look, with every group, and no more.")]
Every = Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two looks.")]


@command("openbrain top", "openbrain top --once --json | jq '.groups[] | select(.lag > 1000)'")
def top(to: Connection, *, once: Once = False, every: Every = 2.0, json: AsJson = False) -> None:
    """Show the pipeline at a glance, until Ctrl-C: replicas; of each stream and group what waits, is retried or died;
    recalls and the outbox. What needs an eye stands first.

    Recalls are those that the answering replica of the API had since the look before. With --json one document a line.
    Needs an operator's key.
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
    while True:
        raw = await ask(brain)
        as_json_line(as_dict(look(raw, before)))
        before = raw
        await asyncio.sleep(every)


async def _live(brain: "OpenBrain", every: float) -> None:
    """In place of what stands in the terminal, which comes back at the end. An API that is away is asked again."""
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
                live.update(f"{error}\nasked again every {every:g} s; Ctrl-C ends it", refresh=True)
            else:
                live.update(rendered(look(raw, before), brain.url, out.height - HEAD_LINES), refresh=True)
                before = raw
            await asyncio.sleep(every)
