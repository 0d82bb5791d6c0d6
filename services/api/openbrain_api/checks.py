"""Whether the parts answer: asked at most once a second, whoever asks us."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from openbrain.memory import MICROSECONDS
from openbrain.ports.clock import Clock

Check = Callable[[], Awaitable[object]]
_log = structlog.get_logger(__name__)


class Checks:
    """Named checks; one that raises, or takes longer than `timeout_s`, is down."""

    def __init__(
        self,
        checks: Mapping[str, Check],
        clock: Clock,
        *,
        others: Callable[[], Awaitable[Mapping[str, bool]]] | None = None,
        timeout_s: float = 3.0,
        fresh_s: float = 1.0,
    ) -> None:
        self._checks = checks
        self._others = others
        self._clock = clock
        self._timeout = timeout_s
        self._fresh = int(fresh_s * MICROSECONDS)
        self._known: tuple[int, Mapping[str, bool]] | None = None
        self._lock = asyncio.Lock()

    async def parts(self) -> Mapping[str, bool]:
        """Which parts answer, by name."""
        async with self._lock:
            now = self._clock.now()
            if self._known is not None and 0 <= now - self._known[0] < self._fresh:
                return self._known[1]
            names = list(self._checks)
            well = await asyncio.gather(*(self._well(name) for name in names))
            parts = dict(zip(names, well, strict=True))
            if self._others is not None:
                parts |= await self._others()
            self._known = (now, parts)
            return parts

    async def _well(self, name: str) -> bool:
        try:
            async with asyncio.timeout(self._timeout):
                await self._checks[name]()
        except Exception as error:  # noqa: BLE001 - any failure means that it does not answer
            _log.warning("part_is_down", part=name, error=type(error).__name__)
            return False
        return True
