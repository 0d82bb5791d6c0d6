"""mcp: serves the tools to an agent that starts this command."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.access.credentials import read_key
from openbrain.domain.access.toolsets import Toolset, choice
from openbrain.domain.access.toolsets import chosen as named_toolsets
from openbrain.domain.errors import Invalid, OpenBrainError, SetupError
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import Agent, Data, KeyFile, Url
from openbrain_cli.output import say
from openbrain_cli.profile import Profile, profile, settings_in_use

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from openbrain.client import OpenBrain
    from openbrain_mcp.server import Clients

Toolsets = Annotated[str, typer.Option("--toolsets", help=f"Tools to list: {choice()}.")]
ASKED_WITHIN_S = 2
"""Seconds after which the brain starts even if no tool was listed or called, because other commands may use it."""


@command(
    "openbrain mcp",
    "claude mcp add --scope user openbrain -- $(command -v openbrain) mcp",
    "openbrain mcp --url https://brain.example.org --key-file ~/.openbrain/team-key",
    "openbrain mcp --toolsets signals,vault",
)
def mcp(
    url: Url = "", key_file: KeyFile = None, agent: Agent = "", toolsets: Toolsets = "core", data: Data = None
) -> None:
    """Serve the brain's tools over stdio, until stdin ends.

    The brain is the one named by --url or OPENBRAIN_URL, else the one that runs on this machine. If none runs, it is
    started inside this process, and other commands can use it as long as this process runs.
    """
    try:
        tools = named_toolsets(toolsets)
    except ValueError:
        raise Invalid("--toolsets", f"name {choice()}") from None
    chosen = profile(url, key_file, data)
    if chosen.named:
        chosen.check()  # report a wrong address or key before the protocol starts
    from openbrain_cli.system import event_loop

    event_loop.run(_serve(chosen, agent, tools))


async def _serve(chosen: Profile, agent: str, toolsets: frozenset[Toolset]) -> None:
    """Answer at once. The brain starts when the tools are listed or called; the first call waits for it."""
    from openbrain_mcp.stdio.bridge import Bridge
    from openbrain_mcp.stdio.prepared import Prepared

    ready: asyncio.Future[OpenBrain] = asyncio.get_running_loop().create_future()
    requested = asyncio.Event()
    bridge = Bridge(Prepared(toolsets), requested.set)

    async def client(_request: object) -> "OpenBrain":
        return await asyncio.shield(ready)

    bridge.listen()
    if await _first(requested, bridge.ended):
        # Import in a thread, so that pending answers are sent meanwhile.
        server = await asyncio.to_thread(_server, client, toolsets)
        holding = asyncio.create_task(_hold(chosen, agent, ready, bridge.ended), name="brain")
        try:
            await bridge.serve(server)
        finally:
            bridge.ended.set()
            await holding
    await bridge.flush()


async def _first(requested: asyncio.Event, ended: asyncio.Event) -> bool:
    """Wait for a request, at most `ASKED_WITHIN_S`. False only if the input ended before one."""
    waiting = [asyncio.ensure_future(item.wait()) for item in (requested, ended)]
    await asyncio.wait(waiting, timeout=ASKED_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
    for item in waiting:
        item.cancel()
    return requested.is_set() or not ended.is_set()


def _server(client: "Clients", toolsets: frozenset[Toolset]) -> "MCPServer[Any]":
    from openbrain.observability import logs
    from openbrain_cli.system.up import max_level

    log_settings = settings_in_use().logs
    # Before the SDK sets up its own logging, which quotes inputs.
    logs.configure(log_settings.model_copy(update={"level": max_level(log_settings.level)}))
    from openbrain_mcp.server import mcp_server

    return mcp_server(client, toolsets)


async def _hold(chosen: Profile, agent: str, ready: "asyncio.Future[OpenBrain]", ended: asyncio.Event) -> None:
    try:
        await asyncio.to_thread(import_module, "openbrain.client")
        async with _brain(chosen, agent) as client:
            ready.set_result(client)
            delivering = asyncio.create_task(client.delivering(), name="outbox")
            await ended.wait()
            delivering.cancel()
    except OpenBrainError as error:
        if ready.done():
            raise
        say(f"openbrain: {error}")
        ready.set_exception(error)
        ready.exception()  # mark it as retrieved; every call raises it again
    except Exception as error:
        if not ready.done():  # else every call would wait for ever
            name = type(error).__name__
            say(f"openbrain: internal error ({name})")
            ready.set_exception(SetupError(f"the brain can't be used: internal error ({name}): {error}"))
            ready.exception()
        raise


@contextlib.asynccontextmanager
async def _brain(chosen: Profile, agent: str) -> AsyncIterator["OpenBrain"]:
    if chosen.named or await _runs(chosen):
        async with chosen.client_of_tools(agent=agent) as client:
            yield client
        return
    from openbrain.client import OpenBrain
    from openbrain.client.outbox import Outbox
    from openbrain_cli.system.up import started

    await asyncio.to_thread(import_module, "openbrain_cli.system.embedded.pipeline")
    settings = chosen.settings()
    free = settings.model_copy(update={"server": settings.server.model_copy(update={"port": 0})})
    async with started(free) as (url, key_file):
        outbox = Outbox(Profile(data_dir=settings.data_dir, environment=chosen.environment).outbox(agent))
        async with OpenBrain(url, read_key(key_file), agent=agent, outbox=outbox) as client:
            yield client


async def _runs(chosen: Profile) -> bool:
    """True if the system noted by `openbrain up` answers: a killed process leaves its note behind."""
    try:
        async with chosen.client() as client:
            await client.health()
    except OpenBrainError:
        return False
    return True
