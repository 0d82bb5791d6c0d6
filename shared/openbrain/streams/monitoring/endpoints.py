"""The routes of every service: /live, /ready, /metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from openbrain.domain.errors import error_kind, error_text
from openbrain.observability import metrics as telemetry

_CHECK_S = 3.0


class Watched(Protocol):
    """A service as these routes see it."""

    group: str

    @property
    def paused(self) -> bool:
        """Whether operators have paused it."""

    def stuck(self) -> list[str]:
        """The loops that are stuck."""

    async def unready(self) -> dict[str, str]:
        """Dependencies that don't answer, with the reason."""

    async def measure(self) -> None:
        """Update the gauges."""


async def failing(checks: Mapping[str, Callable[[], Awaitable[object]]]) -> dict[str, str]:
    """Run all checks concurrently, each for at most 3 s; return those that failed, with the reason."""

    async def ask(check: Callable[[], Awaitable[object]]) -> str | None:
        try:
            async with asyncio.timeout(_CHECK_S):
                await check()
        except TimeoutError:
            return f"no answer in {_CHECK_S:.0f} s"
        except Exception as error:  # noqa: BLE001 - every error means: not ready
            return f"{error_kind(error)}: {error_text(error)}"
        return None

    answers = await asyncio.gather(*(ask(check) for check in checks.values()))
    return {name: reason for name, reason in zip(checks, answers, strict=True) if reason is not None}


def routes(services: Sequence[Watched]) -> list[tuple[str, ASGIApp]]:
    """Return the routes for one service, or for all services of a process."""

    async def live() -> Response:
        stuck = {service.group: loops for service in services if (loops := service.stuck())}
        return JSONResponse({"live": not stuck, "stuck": stuck}, 503 if stuck else 200)

    async def ready() -> Response:
        answers = await asyncio.gather(*(service.unready() for service in services))
        failed = {service.group: reasons for service, reasons in zip(services, answers, strict=True) if reasons}
        paused = [service.group for service in services if service.paused]
        return JSONResponse({"ready": not failed, "failing": failed, "paused": paused}, 503 if failed else 200)

    async def metrics() -> Response:
        await asyncio.gather(*(service.measure() for service in services))
        return Response(generate_latest(telemetry.REGISTRY), media_type=CONTENT_TYPE_LATEST)

    return [("/live", _Endpoint(live)), ("/ready", _Endpoint(ready)), ("/metrics", _Endpoint(metrics))]


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An ASGI application. It is an object because Starlette treats a function as a request handler."""

    answer: Callable[[], Awaitable[Response]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.answer() if scope["method"] in {"GET", "HEAD"} else Response(status_code=405)
        await response(scope, receive, send)
