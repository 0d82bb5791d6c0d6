"""A service: some streams, one group, one handler at a time. Runs alone under FastStream, or with others in one
process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import Any, Protocol

import structlog
from faststream.asgi import AsgiFastStream
from faststream.specification import AsyncAPI

from openbrain.domain.errors import SetupError, TryLater, error_kind, error_text
from openbrain.domain.version import __version__
from openbrain.observability import logs
from openbrain.observability.gc_tuning import long_running
from openbrain.settings import Logs, Streams
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.monitoring import endpoints
from openbrain.streams.monitoring.gauges import Gauges
from openbrain.streams.reading.broker import ServiceBroker
from openbrain.streams.reading.controls import Paused
from openbrain.streams.reading.session import Session
from openbrain.streams.redis.connection import connect

Resources = Callable[[], AbstractAsyncContextManager[Any]]
Check = Callable[[], Awaitable[object]]
_log = structlog.get_logger(__name__)


class Companion(endpoints.Watched, Protocol):
    """An additional task in a service's process."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class Service:
    """Reads `subscriptions` as `group`. Connects to nothing before it starts; can be started again after a stop.

    resources: opened before the first entry is read, closed after the last is handled.
    checks: run by /ready in addition to Redis, by name; each raises if its dependency doesn't answer.
    lock: shared by services that must not handle at the same time; by default each service has its own.
    handler_limit_s: a handler that runs longer makes /live fail.
    paused: whether operators have paused the group; asked every `poll_s`, and before the first entry is read.
    """

    def __init__(
        self,
        group: str,
        subscriptions: Sequence[Subscription],
        settings: Streams,
        *,
        title: str = "",
        resources: Resources = nullcontext,
        checks: Mapping[str, Check] | None = None,
        lock: asyncio.Lock | None = None,
        handler_limit_s: float = 600,
        paused: Paused | None = None,
    ) -> None:
        names = [subscription.full_name(settings.prefix) for subscription in subscriptions]
        if not names or len(set(names)) < len(names):
            raise SetupError(f"the service {group} must read at least one stream, and each once: {names}")
        self.group, self.subscriptions, self.settings = group, tuple(subscriptions), settings
        self.title = title or f"openbrain {group}"
        self._resources = resources
        self._checks = dict(checks or {})
        self._lock = lock or asyncio.Lock()
        self._handler_limit_s = handler_limit_s
        self._paused = paused
        self._gauges = Gauges(group, names)
        self._session: Session | None = None
        self._open = AsyncExitStack()
        self.broker = ServiceBroker(group, settings, self._new_session)
        for name, subscription in zip(names, self.subscriptions, strict=True):
            self.broker.declare(name, subscription)

    def _new_session(self) -> Session:
        limit_s, paused = self._handler_limit_s, self._paused
        self._session = Session(self.group, self.subscriptions, self.settings, self._lock, limit_s, paused)
        return self._session

    def app(self, logging: Logs | None = None, companions: Sequence[Companion] = ()) -> AsgiFastStream:
        """Return the application for `faststream run`: it reads, and serves /live, /ready, /metrics, /docs and
        /docs.json. The tasks in `companions` run while the service's resources are open."""

        connect(self.settings)  # connects to nothing; refuses an invalid URL before anything is served

        @asynccontextmanager
        async def lifespan() -> AsyncIterator[None]:
            if logging is not None:
                logs.configure(logging)
            async with self._opened(), AsyncExitStack() as stack:
                for item in companions:
                    stack.push_async_callback(item.stop)
                    await item.start()
                with long_running():
                    yield

        return AsgiFastStream(
            self.broker,
            logger=None,
            lifespan=lifespan,
            asgi_routes=endpoints.routes([self, *companions]),
            specification=AsyncAPI(title=self.title, version=__version__),
            asyncapi_path="/docs",
        )

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        """Open the resources. Errors are logged here, because servers would print them with values."""
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._resources())
            except Exception as error:
                _log.error("start.failed", group=self.group, error=error_kind(error), message=error_text(error))
                raise
            yield

    async def start(self) -> None:
        """Open the resources, wait for Redis and read: for a process that runs several services in its own loop."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._resources())
            stack.push_async_callback(self.broker.stop)
            await self.broker.start()
            self._open = stack.pop_all()

    async def stop(self) -> None:
        """Stop reading, let the running handler end, give back pending entries, close the resources."""
        await self._open.aclose()

    @property
    def paused(self) -> bool:
        """Whether operators have paused the group."""
        return self._session is not None and self._session.runtime.paused.is_set()

    def stuck(self) -> list[str]:
        """Return the loops that are stuck; empty if all is well."""
        return [*(self._session.stuck() if self._session else ()), *self.broker.dead_tasks()]

    async def unready(self) -> dict[str, str]:
        """Return the dependencies that don't answer, by name, with the reason."""
        return await endpoints.failing({"redis": self._check_redis, "entries": self._check_entries, **self._checks})

    async def _check_redis(self) -> None:
        if self._session is None:
            raise TryLater("the service has not started yet")
        await self._session.check_redis()

    async def _check_entries(self) -> None:
        if self._session is not None:
            await self._session.check_failures()

    async def measure(self) -> None:
        """Update lag and pending counts, at most once a second."""
        if self._session is not None:
            await self._gauges.refresh(self._session.client)
