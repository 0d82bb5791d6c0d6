"""mcp: the tools, for an agent that starts this command."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from openbrain.domain.access.credentials import read_key
from openbrain.domain.errors import OpenBrainError
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import Agent, Data, KeyFile, Url
from openbrain_cli.output import say
from openbrain_cli.profile import Profile, profile

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from openbrain.client import OpenBrain

ASKED_WITHIN_S = 2
"""After this long the brain starts though no tool was listed or called: other commands may use it."""


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
    from openbrain.observability.gc_tuning import importing

    with importing():
        from openbrain.observability import logs
        from openbrain.settings import load
        from openbrain_cli.system.event_loop import loop_factory
        from openbrain_cli.system.up import max_level

        said = load().logs
        # Before the SDK sets up its own, which quote what they were given.
        logs.configure(said.model_copy(update={"level": max_level(said.level)}))
        chosen = profile(url, key_file, data)
        if chosen.named:
            chosen.check()  # what is wrong with a name or a key is told before anything is spoken
        from openbrain_mcp.server import mcp_server

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(mcp_server, chosen, agent))


async def _serve(mcp_server: "Callable[..., MCPServer[Any]]", chosen: Profile, agent: str) -> None:
    """Speak at once. What has to start begins when the tools are listed or called; the first call waits for it."""
    ready: asyncio.Future[OpenBrain] = asyncio.get_running_loop().create_future()
    asked, ended = asyncio.Event(), asyncio.Event()
    holding = asyncio.create_task(_hold(chosen, agent, ready, asked, ended), name="brain")

    async def client(_request: object) -> "OpenBrain":
        asked.set()
        return await asyncio.shield(ready)

    try:
        await mcp_server(client, asked.set).run_stdio_async()
    finally:
        ended.set()
        asked.set()
        await holding


async def _hold(
    chosen: Profile, agent: str, ready: "asyncio.Future[OpenBrain]", asked: asyncio.Event, ended: asyncio.Event
) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asked.wait(), ASKED_WITHIN_S)
    if ended.is_set():
        return
    try:
        # Imported beside the loop, so that an answer that is under way goes out.
        await asyncio.to_thread(import_module, "openbrain.client")
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

    await asyncio.to_thread(import_module, "openbrain_cli.system.embedded.pipeline")
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
