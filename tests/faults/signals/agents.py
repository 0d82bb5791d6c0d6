"""The fleet of subscribers: half by Redis, half by server-sent events, each through a network that can fail."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from openbrain.adapters.redis.broadcasts import BroadcastStream
from openbrain.client import OpenBrain
from openbrain.client.subscriber import FileCursor, Subscriber
from openbrain.client.subscriber.http_api import HttpApi
from openbrain.domain.events.data import Broadcast
from openbrain.settings import Streams
from tests.faults.signals.judging import Record, Said
from tests.support.waiting import PATIENCE_S

WORKSPACE = "default"
ANSWER_S = 10.0
AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Place:
    """The addresses of one replica, as agents see them through its network."""

    url: str
    key: str
    redis: Streams
    folder: Path


@dataclass
class Agent:
    """A subscriber that can disconnect and come back with its cursor."""

    name: str
    place: Place
    by_redis: bool
    beat_s: float = 2.0
    answer_s: float = ANSWER_S
    record: Record = field(init=False)
    ear: Subscriber | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self.record = Record(self.name)

    async def begin(self) -> None:
        """Subscribe, resuming after the cursor."""
        brain = OpenBrain(
            self.place.url, self.place.key, agent=self.name, timeout_s=self.answer_s, attempts=1, breaker_failures=0
        )
        stream = BroadcastStream(self.place.redis, WORKSPACE) if self.by_redis else None
        ear = Subscriber(
            HttpApi(brain, via="redis" if stream else "sse"),
            self._hear,
            stream=stream,
            cursor=FileCursor(self.place.folder / self.name),
            beat_s=self.beat_s,
            start_s=PATIENCE_S,
        )
        self.ear = await self._stack.enter_async_context(ear)

    async def end(self) -> None:
        """Disconnect."""
        self.ear = None
        await self._stack.aclose()

    @property
    def halted(self) -> bool:
        return self.ear is not None and self.ear.standing.halted

    @property
    def cursor(self) -> int:
        return -1 if self.ear is None else self.ear.standing.cursor

    async def _hear(self, signal: Broadcast) -> None:
        self.record.said.append(Said(signal.seq, signal.signal_id, signal.state, signal.severity))


def fleet(
    places: Sequence[Place], count: int, *, name: str = "agent", beat_s: float = 2.0, answer_s: float = ANSWER_S
) -> list[Agent]:
    """Return a fleet: half by Redis, half by server-sent events, spread over the places."""
    return [
        Agent(
            f"{name}-{number}",
            places[number // 2 % len(places)],
            by_redis=number % 2 == 0,
            beat_s=beat_s,
            answer_s=answer_s,
        )
        for number in range(count)
    ]


async def all_of(agents: Sequence[Agent], do: Callable[[Agent], Awaitable[None]]) -> None:
    """Do it for all agents, a limited number at a time: a machine has only so many cores."""
    for start in range(0, len(agents), AT_ONCE):
        await asyncio.gather(*(do(agent) for agent in agents[start : start + AT_ONCE]))


def lacking(agents: Iterable[Agent], top: int) -> list[str]:
    """Return the names of agents whose cursor is below `top`."""
    return [agent.name for agent in agents if agent.cursor < top]
