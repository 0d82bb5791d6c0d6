"""A workspace whose broadcasts a test makes by hand, as the API and the stream deliver them."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from redis.asyncio import Redis

from openbrain.client.subscriber.api import Missed, News, Present
from openbrain.client.subscriber.halts import halt_of
from openbrain.domain.errors import TryLater
from openbrain.domain.events.data import Broadcast
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import BROADCAST
from openbrain.domain.signals.values import Halt, HaltState, Severity, SignalState, Step
from openbrain.settings import Streams
from tests.support.streams.consumers import scaled

PAGE = 50


def broadcast(seq: int, halt: str | None = None, state: HaltState | None = None, **more: object) -> Broadcast:
    """Return the broadcast of signal `s-<seq>`, or of the one that opened `halt`."""
    said = {
        "seq": seq,
        "signal_id": f"s-{halt or seq}",
        "change": Step.RAISED,
        "state": SignalState.ACTIVE,
        "severity": Severity.NUCLEAR if halt else Severity.WARNING,
        "raised_severity": Severity.NUCLEAR if halt else Severity.WARNING,
        "halt": state is HaltState.OPEN,
        "halt_id": halt,
        "halt_state": state,
        "title": "fire",
        "content": "",
        "source": "probe",
        "raised_at": "2026-01-01T00:00:00Z",
    }
    return Broadcast.model_validate(said | more)


@dataclass
class Store:
    """The broadcasts so far, and the agents that have stopped."""

    said: list[Broadcast] = field(default_factory=list)
    kept_from: int = 1
    """Broadcasts before this number are purged."""
    away: bool = False
    full: bool = False
    """Whether new streams are refused."""
    looks: int = 0
    """How often the current state was requested separately."""
    behind: int = 0
    """By how many broadcasts the state at the start of a stream is outdated."""
    acknowledged: set[tuple[str, str]] = field(default_factory=set)
    seen: dict[str, int | None] = field(default_factory=dict)
    moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def last(self) -> int:
        return self.said[-1].seq if self.said else 0

    async def say(self, halt: str | None = None, state: HaltState | None = None, **more: Any) -> Broadcast:
        """Add the next broadcast."""
        made = broadcast(self.last + 1, halt, state, **more)
        await self.tell(lambda: self.said.append(made))
        return made

    async def tell(self, change: Any) -> None:
        """Apply a change and wake the streams."""
        async with self.moved:
            change()
            self.moved.notify_all()

    def halts(self) -> tuple[Halt, ...]:
        last = {each.halt_id: each for each in self.said if each.halt_id}
        return tuple(halt_of(each) for each in last.values() if each.halt_state is HaltState.OPEN)


class HandApi:
    """The API of one agent, on an in-memory store that a test can roll back, purge and take offline."""

    def __init__(self, store: Store, agent: str = "ada") -> None:
        self.store, self.agent = store, agent

    def _answers(self) -> None:
        if self.store.away:
            raise TryLater("the API is away")

    async def present(self, cursor: int | None) -> Present:
        self.store.looks += 1
        return self._present(cursor)

    def _present(self, cursor: int | None) -> Present:
        self._answers()
        self.store.seen[self.agent] = cursor
        newest = {each.signal_id: each for each in self.store.said}
        signals = tuple(each for each in newest.values() if each.state is SignalState.ACTIVE)
        return Present(seq=self.store.last, signals=signals, halts=self.store.halts())

    async def missed(self, after: int) -> Missed:
        self._answers()
        found = [each for each in self.store.said if each.seq > after and each.seq >= self.store.kept_from][:PAGE]
        return Missed(broadcasts=tuple(found), through=found[-1].seq if found else max(after, self.store.last))

    async def stream(self, after: int) -> AsyncIterator[News]:
        if self.store.full:
            raise TryLater("enough listen here")
        state = self._present(after)
        yield replace(state, seq=state.seq - self.store.behind)
        while True:
            page = await self.missed(after)
            if page.broadcasts:
                yield page
                after = page.through
                continue
            async with self.store.moved:
                try:
                    async with asyncio.timeout(0.1):
                        await self.store.moved.wait()
                except TimeoutError:
                    self._answers()
            yield None

    async def acknowledge(self, halt_id: str) -> None:
        self._answers()
        self.store.acknowledged.add((self.agent, halt_id))

    async def close(self) -> None:
        """Do nothing: nothing is open."""


@dataclass
class Wire:
    """The stream of a workspace, written by hand."""

    settings: Streams
    client: "Redis"
    workspace: str = "w"

    async def publish(self, *said: Broadcast) -> None:
        """Append broadcasts as the relay does."""
        for each in said:
            body = encode(BROADCAST.name, each, event_id=uuid.uuid4().hex, at=0)
            await self.client.xadd(self.name, {FIELD: body}, id=f"{each.seq}-0")

    @property
    def name(self) -> str:
        return f"{self.settings.prefix}{BROADCAST.name}.{self.workspace}"


def wire(url: str) -> Wire:
    """Return a stream with a unique prefix on a server."""
    return Wire(scaled(url), Redis.from_url(url))


@dataclass
class Ear:
    """A handler that records its events."""

    heard: list[int] = field(default_factory=list)
    said: list[Broadcast] = field(default_factory=list)

    async def __call__(self, signal: Broadcast) -> None:
        self.heard.append(signal.seq)
        self.said.append(signal)
