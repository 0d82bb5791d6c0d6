"""Views that are refreshed until Ctrl-C."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from openbrain.domain.errors import TryLater
from openbrain_cli.output import say

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


async def repeated(show: Callable[[], Awaitable[None]], every: float, away: Callable[[str], None] = say) -> None:
    """Call `show` again and again. While the API is away, tell `away` why, and try on."""
    while True:
        try:
            await show()
        except TryLater as error:
            away(str(error))
        await asyncio.sleep(every)


async def refreshed(
    view: "Callable[[], Awaitable[RenderableType]]", every: float, out: "Console", *, screen: bool = False
) -> None:
    """Draw the view in place, with `screen` on the alternate screen; without a terminal, print each below the last."""
    from rich.live import Live

    async def print_next() -> None:
        out.print(await view())

    if not out.is_terminal or out.is_dumb_terminal:  # there, rich shows a live view at its end alone
        await repeated(print_next, every)
        return
    with Live(console=out, auto_refresh=False, screen=screen) as live:

        async def draw() -> None:
            live.update(await view(), refresh=True)

        def wait(why: str) -> None:
            live.update(f"{why}\nretrying every {every:g} s; Ctrl-C ends it", refresh=True)

        await repeated(draw, every, wait)
