"""An app behind a real HTTP server on this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from openbrain_cli.system.http.server import http_server
from tests.support.waiting import until


@asynccontextmanager
async def served(app: Any, *, graceful_s: float = 5, **options: Any) -> AsyncIterator[str]:
    """Serve the app while the block runs; yield its URL."""
    server: uvicorn.Server = http_server(
        app, hears_signals=False, graceful_s=graceful_s, host="127.0.0.1", port=0, **options
    )
    running = asyncio.create_task(server.serve())

    async def started() -> bool:
        assert not running.done()
        return server.started

    try:
        await until(started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await running
