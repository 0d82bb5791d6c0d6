"""Start on a full disk: waits for space, and refuses requests with the reason meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import openbrain

LOOK_S = 1.0
"""Seconds between checks for space."""
_log = structlog.get_logger(__name__)

Serve = Callable[[Starlette], AbstractAsyncContextManager[None]]


async def until_room(shortage: Callable[[], str], serve: Serve, look_s: float = LOOK_S) -> None:
    """Return when there is enough space to start. `serve` runs an app while its block runs."""
    if not (why := shortage()):
        return
    _log.error("start.waits_for_room", message=why)
    async with serve(refusing(shortage)):
        while shortage():  # noqa: ASYNC110 - nothing signals that a disk has space
            await asyncio.sleep(look_s)
    _log.warning("start.room_again")


def refusing(shortage: Callable[[], str]) -> Starlette:
    """An app that is live but not ready, and refuses every other request with the reason."""

    async def answer(request: Request) -> JSONResponse:
        why = shortage() or "there is room again, and the start continues"
        path = request.url.path
        if path == "/live":
            return JSONResponse({"live": True, "stuck": {}})
        body: dict[str, Any] = {"error": "backlog_full", "message": why, "retry_after": 5}
        if path == "/ready":
            body = {"ready": False, "failing": {"api": {"disk": why}}, "paused": [], "dependencies": {}, "writes": why}
        elif path == "/v1/health":
            body = {"status": "down", "version": openbrain.__version__, "parts": {}, "writes": why}
        return JSONResponse(body, 503, headers={"Retry-After": "5"})

    every = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    return Starlette(routes=[Route("/{path:path}", answer, methods=every)], lifespan=_nothing)


@asynccontextmanager
async def _nothing(_app: Starlette) -> AsyncIterator[None]:
    yield
