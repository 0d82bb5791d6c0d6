"""Health of dependencies, checked at most once a second for all callers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from openbrain.domain.caches import Fresh
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.index import Checked
from openbrain.streams.monitoring.endpoints import Watched, failing

OWN = "api"
Check = Callable[[], Awaitable[Checked | tuple[str, str, tuple[str, ...]]]]
Failing = Mapping[str, Mapping[str, str]]
"""Service -> part -> reason."""


class Checks:
    """The API's own dependencies, and the services that run in the same process."""

    def __init__(self, own: Mapping[str, Check], services: Sequence[Watched], clock: Clock) -> None:
        self.services = services
        self.parts = tuple(own)
        self._own = own
        self._clock = clock
        self._known = Fresh[Failing](clock.now, MICROSECONDS)
        self._examined: dict[str, Mapping[str, Any]] = {}
        self._lock = asyncio.Lock()

    async def failing(self) -> Failing:
        """Failing services, with the reason; healthy ones are absent."""
        async with self._lock:
            if (known := self._known.get()) is not None:
                return known
            now = self._clock.now()
            examining = {part: self._timed(part, check) for part, check in self._own.items()}
            services = (service.unready() for service in self.services)
            own, *others = await asyncio.gather(failing(examining), *services)
            names = (OWN, *(service.group for service in self.services))
            reasons = dict(zip(names, (own, *others), strict=True))
            return self._known.set({name: why for name, why in reasons.items() if why}, now)

    async def dependencies(self) -> Mapping[str, Mapping[str, Any]]:
        """The API's own dependencies that answer: product, version, problems, and response time in milliseconds."""
        down = (await self.failing()).get(OWN, {})
        return {part: state for part, state in self._examined.items() if part not in down}

    def _timed(self, part: str, check: Check) -> Callable[[], Awaitable[object]]:
        async def ask() -> None:
            started = time.perf_counter()
            answer = await check()
            ms = round((time.perf_counter() - started) * 1000, 1)
            checked = answer if isinstance(answer, Checked) else Checked(*answer)
            self._examined[part] = {**asdict(checked), "ms": ms}

        return ask

    def stuck(self) -> Mapping[str, list[str]]:
        """The stuck loops, by service."""
        return {service.group: loops for service in self.services if (loops := service.stuck())}

    def paused(self) -> list[str]:
        """The services that operators paused."""
        return [service.group for service in self.services if service.paused]

    async def measure(self) -> None:
        """Bring the services' gauges up to date."""
        await asyncio.gather(*(service.measure() for service in self.services))
