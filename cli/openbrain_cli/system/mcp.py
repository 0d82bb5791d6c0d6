"""mcp: the tools, for an agent that starts this command."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from openbrain.domain.credentials import read_key
from openbrain.domain.errors import OpenBrainError
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import Agent, Data, KeyFile, Url
from openbrain_cli.output import say
from openbrain_cli.profile import Profile, profile

if TYPE_CHECKING:
    from openbrain.client import OpenBrain


@command(
    "openbrain mcp",
    "claude mcp add --scope user openbrain -- $(command -v openbrain) mcp",
    "openbrain mcp --url https://brain.example.org --key-file ~/.openbrain/team-key",
)
def mcp(url: Url = "", key_file: KeyFile = None, agent: Agent = "", data: Data = None) -> None:
    """Serve the brain's tools over stdio, until stdin ends.

    The brain is the one that --url or OPENBRAIN_URL names, else the one that runs on this machine; where none runs,
    it is started inside this process, for other commands too while this one lives.
    """
    from openbrain.observability import logs
    from openbrain.settings import load
    from openbrain_cli.system.http.server import loop_factory
    from openbrain_cli.system.up import max_level

    said = load().logs
    # Before the SDK sets up its own, which quote what they were given.
    logs.configure(said.model_copy(update={"level": max_level(said.level)}))
    chosen = profile(url, key_file, data)
    if chosen.named:
        chosen.client_of_tools(agent=agent)  # what is wrong with a name or a key is told before anything is spoken
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(chosen, agent))


async def _serve(chosen: Profile, agent: str) -> None:
    """Speak at once: what has to start does so meanwhile, and the first call waits for it."""
    from openbrain_mcp.server import mcp_server

    ready: asyncio.Future[OpenBrain] = asyncio.get_running_loop().create_future()
    ended = asyncio.Event()
    holding = asyncio.create_task(_hold(chosen, agent, ready, ended), name="brain")

    async def client(_request: object) -> "OpenBrain":
        return await asyncio.shield(ready)

    try:
        await mcp_server(client).run_stdio_async()
    finally:
        ended.set()
        await holding


async def _hold(chosen: Profile, agent: str, ready: "asyncio.Future[OpenBrain]", ended: asyncio.Event) -> None:
    try:
        async with _brain(chosen, agent) as client:
            ready.set_result(client)
            await ended.wait()
    except OpenBrainError as error:
        if ready.done():
            raise
        say(f"openbrain: {error}")
        ready.set_exception(error)
        ready.exception()  # every call tells it again


@contextlib.asynccontextmanager
async def _brain(chosen: Profile, agent: str) -> AsyncIterator["OpenBrain"]:
    if chosen.named or await _runs(chosen):
        async with chosen.client_of_tools(agent=agent) as client:
            yield client
        return
    from openbrain.client import OpenBrain
    from openbrain_cli.system.up import started

    settings = chosen.settings()
    free = settings.model_copy(update={"server": settings.server.model_copy(update={"port": 0})})
    async with started(free) as (url, key_file), OpenBrain(url, read_key(key_file), agent=agent) as client:
        yield client


async def _runs(chosen: Profile) -> bool:
    """Whether what `openbrain up` noted still answers: a process that was killed leaves its note behind."""
    try:
        async with chosen.client() as client:
            await client.health()
    except OpenBrainError:
        return False
    return True
