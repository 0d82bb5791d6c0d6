"""publish: sends events to a stream, after checking all of them."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import SetupError, TryLater
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Data, file_bytes
from openbrain_cli.output import as_json
from openbrain_cli.profile import Profile, profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbrain.settings import Streams

Stream = Annotated[
    str, typer.Argument(help="Such as memory.submitted, or memory.submitted.WORKSPACE where it is bound.")
]
File = Annotated[str, typer.Argument(metavar="[FILE]", help="One JSON object, or one per line; - is standard input.")]
Workspace = Annotated[str, typer.Option("--workspace", help="Workspace of events that name none.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only check the events.")]

_STREAMS_FOLDER = "streams"


@command(
    'echo \'{"content": "Build 4711 failed.", "type": "bug"}\' | openbrain publish memory.submitted --workspace acme',
    "openbrain publish memory.submitted events.ndjson --workspace default --dry-run",
)
def publish(
    stream: Stream,
    file: File = "-",
    *,
    workspace: Workspace = "",
    dry_run: DryRun = False,
    json: AsJson = False,
    data: Data = None,
) -> None:
    """Publish validated events on a stream. A bare `data` object is wrapped in a CloudEvent with a new id."""
    from openbrain_cli.operators.streams.event_parsing import checked

    events = checked(stream, file_bytes(Path(file)), workspace=workspace)
    ids = [] if dry_run else asyncio.run(_send(stream_settings(profile(data=data)), stream, events))
    if json:
        as_json({"stream": stream, "checked": len(events), "entries": ids})
    else:
        print("\n".join(ids) if ids else f"{len(events)} would be published to {stream}")


def stream_settings(chosen: Profile) -> "Streams":
    """The stream server in the settings, or of the system on the data folder. Raise `SetupError` if there is none."""
    from openbrain.adapters.redis.embedded_valkey import EmbeddedValkey
    from openbrain.runtime.adapters import EMBEDDED

    streams = chosen.settings().streams
    if streams.url != EMBEDDED:
        return streams
    running = EmbeddedValkey(chosen.data_dir / _STREAMS_FOLDER, streams.maxmemory_mb)
    if not Path(running.url.removeprefix("unix://")).exists():
        raise SetupError(
            f"no stream server runs on {chosen.data_dir}: start `openbrain up`, or set OPENBRAIN_STREAMS__URL"
        )
    return streams.model_copy(update={"url": running.url})


async def _send(settings: "Streams", stream: str, events: "Sequence[bytes]") -> list[str]:
    from redis.asyncio import Redis

    from openbrain.domain.events.envelope import FIELD
    from openbrain.streams.redis.connection import AWAY, connect, without_login

    client: Redis = connect(settings)
    try:
        async with client.pipeline(transaction=True) as pipeline:
            for event in events:
                pipeline.xadd(f"{settings.prefix}{stream}", {FIELD: event})
            return [entry.decode() for entry in await pipeline.execute()]
    except AWAY as error:
        reason = type(error).__name__
        where = without_login(settings.url)
        raise TryLater(f"{where} did not confirm the events ({reason}): check the stream before a retry") from error
    finally:
        await client.aclose()
