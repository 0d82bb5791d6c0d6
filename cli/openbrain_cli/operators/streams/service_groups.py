"""streams groups prepare: creates the consumer groups before a service, or its scaler, looks for them."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import TryLater
from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.streams.publish import stream_settings
from openbrain_cli.options import AsJson, Data
from openbrain_cli.output import as_json
from openbrain_cli.profile import profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbrain.settings import Streams

_PAUSE_S = 0.5
Patience = Annotated[int, typer.Option("--wait", min=0, help="Seconds to wait until the stream server answers.")]


@command("openbrain streams groups prepare --wait 60")
def prepare(wait: Patience = 0, json: AsJson = False, data: Data = None) -> None:
    """Create the missing consumer groups of all services, at the beginning of their streams.

    A service creates its own when it starts. Use this for what looks for groups earlier: a scaler does nothing without.
    """
    made = asyncio.run(_prepared(stream_settings(profile(data=data)), wait))
    if json:
        as_json([{"stream": stream, "group": group} for stream, group in made])
    else:
        print("\n".join(f"{stream}  {group}" for stream, group in made) or "all groups exist")


async def _prepared(settings: "Streams", wait: float) -> "Sequence[tuple[str, str]]":
    from openbrain.streams.operating.administration import make_service_groups
    from openbrain.streams.redis.connection import AWAY, connect, disconnect, without_login, words

    client = connect(settings)
    why = f"no answer in {wait} s"
    try:
        async with asyncio.timeout(wait or None):
            while True:
                try:
                    return await make_service_groups(client, settings)
                except AWAY as error:
                    why = words(error) or type(error).__name__
                if not wait:
                    break
                await asyncio.sleep(_PAUSE_S)
    except TimeoutError:
        pass
    finally:
        await disconnect(client)
    raise TryLater(f"{without_login(settings.url)} did not make the groups: {why}")
