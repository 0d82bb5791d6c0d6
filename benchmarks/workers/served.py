"""The filled system that a worker measures, with its API on a separate port."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import uvicorn

from benchmarks.support.filling import Submitted, fill
from benchmarks.support.zero_cost import zero_cost_parts
from openbrain.domain.access.permissions import Permission
from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.usecases.auth import hash_secret, issue
from openbrain_api.app import api
from openbrain_cli.system.embedded.pipeline import running


@contextlib.asynccontextmanager
async def served(
    folder: Path,
    count: int,
    submitted: Submitted | None = None,
    agent: str = "",
    settings: Mapping[str, Any] | None = None,
    parts: Callable[[Settings], Container] = zero_cost_parts,
) -> AsyncIterator[Container]:
    """Serve `count` memories of `agent` in the folder; print address and key as the first JSON line."""
    async with running(Settings(data_dir=folder, **(settings or {})), parts) as system:
        await fill(system.container, count, submitted, agent)
        server = uvicorn.Server(uvicorn.Config(api(system.container), port=0, log_config=None, access_log=False))
        task = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn tells no other way
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        key = await _key_of(agent, system.container) if agent else system.key_file.read_text(encoding="utf-8").strip()
        print(json.dumps({"port": port, "url": f"http://127.0.0.1:{port}", "key": key}), flush=True)
        yield system.container
        server.should_exit = True
        await task


async def _key_of(agent: str, container: Container) -> str:
    key, secret = issue(
        workspace_id="default",
        name=agent,
        agent_id=agent,
        permissions=frozenset({Permission.BRAIN_READ, Permission.BRAIN_WRITE}),
        now=container.clock.now(),
    )
    await container.store.api_keys.create_key(key, hash_secret(secret))
    return secret
