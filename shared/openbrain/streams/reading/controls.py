"""Polls operators' controls of a service: pauses and replays."""

from collections.abc import Awaitable, Callable, Sequence

import structlog
from redis.asyncio import Redis

from openbrain.domain.errors import error_kind, error_text
from openbrain.streams.handling.breaker import UNAVAILABLE
from openbrain.streams.handling.runtime import Closing, Runtime
from openbrain.streams.redis.connection import AWAY

Paused = Callable[[], Awaitable[bool]]
"""Whether the group is paused; `TryLater` or `SetupError` while that is unknown."""
_log = structlog.get_logger(__name__)


class Controls:
    """The controls of one running service. While a state can't be read it stays unchanged; before the first answer the
    service is paused."""

    loop = "controls"

    def __init__(self, runtime: Runtime, client: Redis, replays: Sequence[str], paused: Paused | None) -> None:
        self._runtime, self._client, self._replays, self._paused = runtime, client, replays, paused
        self._known = paused is None
        if not self._known:
            runtime.paused.set()

    async def run(self) -> None:
        """Poll until the service closes."""
        while True:
            self._runtime.heartbeat(self.loop)
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - this loop must outlive whatever it meets
                _log.error("streams.controls_failed", error=error_kind(error), message=error_text(error))
            try:
                await self._runtime.sleep(self._runtime.settings.tuning.poll_s)
            except Closing:
                return

    async def _look(self) -> None:
        try:
            if self._paused is not None:
                self._rest(paused=await self._paused())
        except UNAVAILABLE:
            pass  # unchanged: the service's own check of the database reports it
        try:
            existing = await self._existing()
        except AWAY:
            return  # the readers report it
        self._runtime.replaying.intersection_update(existing)
        self._runtime.replaying.update(existing)

    async def _existing(self) -> set[str]:
        if not self._replays or not await self._client.exists(*self._replays):
            return set()  # the usual case, in one call
        return {stream for stream in self._replays if await self._client.exists(stream)}

    def _rest(self, *, paused: bool) -> None:
        runtime, was_paused = self._runtime, self._known and self._runtime.paused.is_set()
        if paused and not was_paused:
            _log.warning("streams.group_paused", group=runtime.group)
        if was_paused and not paused:
            _log.info("streams.group_resumed", group=runtime.group)
        runtime.paused.set() if paused else runtime.paused.clear()
        self._known = True
