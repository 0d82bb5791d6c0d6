"""A start on a full disk: wait for room, and answer meanwhile that nothing can be stored."""

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
"""The interval of checks for room."""
_log = structlog.get_logger(__name__)

Serve = Callable[[Starlette], AbstractAsyncContextManager[None]]


async def until_room(shortage: Callable[[], str], serve: Serve, look_s: float = LOOK_S) -> None:
    """Return when there is room for a start. `serve` answers requests by an app while its block runs."""
    if not (why := shortage()):
        return
    _log.error("start.waits_for_room", message=why)
    async with serve(refusing(shortage)):
        while shortage():  # noqa: ASYNC110 - nobody tells when a disk has room
            await asyncio.sleep(look_s)
    _log.warning("start.room_again")


def refusing(shortage: Callable[[], str]) -> Starlette:
    """Alive, and not ready: every other request is told why."""

    async def answer(request: Request) -> JSONResponse:
        why = shortage() or "there is room again, and the start goes on"
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
