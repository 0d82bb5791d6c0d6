"""What does not answer: asked at most once a second, whoever asks us."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from openbrain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.streams.health import Watched, failing

OWN = "api"
Failing = Mapping[str, Mapping[str, str]]
"""Room -> part -> reason."""


class Checks:
    """The API's own dependencies, and the rooms that run in the same process."""

    def __init__(
        self,
        own: Mapping[str, Callable[[], Awaitable[object]]],
        rooms: Sequence[Watched],
        clock: Clock,
        *,
        fresh_s: float = 1.0,
    ) -> None:
        self.rooms = rooms
        self.parts = tuple(own)
        self._own = own
        self._clock = clock
        self._fresh = int(fresh_s * MICROSECONDS)
        self._known: tuple[int, Failing] | None = None
        self._lock = asyncio.Lock()

    async def failing(self) -> Failing:
        """What does not answer, with the reason; rooms where all is well are absent."""
        async with self._lock:
            now = self._clock.now()
            if self._known is None or not 0 <= now - self._known[0] < self._fresh:
                own, *others = await asyncio.gather(failing(self._own), *(room.unready() for room in self.rooms))
                names = (OWN, *(room.group for room in self.rooms))
                reasons = dict(zip(names, (own, *others), strict=True))
                self._known = (now, {name: why for name, why in reasons.items() if why})
            return self._known[1]

    def stuck(self) -> Mapping[str, list[str]]:
        """The loops that stand still though they should not, by room."""
        return {room.group: loops for room in self.rooms if (loops := room.stuck())}

    async def measure(self) -> None:
        """Bring the rooms' gauges up to date."""
        await asyncio.gather(*(room.measure() for room in self.rooms))
