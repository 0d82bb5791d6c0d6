"""Raises the signals of a plan, and repeats each until the database has counted it."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from openbrain.client import OpenBrain
from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SIGNAL_RAISED
from openbrain.domain.signals.values import Severity
from tests.faults.signals.agents import WORKSPACE
from tests.faults.signals.plan import Raised

AWAY = (RedisError, OSError, TimeoutError)
BATCH = 20


class Raising:
    """`sent`: number of raises sent at least once."""

    def __init__(self, brain: OpenBrain, redis: Redis, prefix: str, chance: random.Random) -> None:
        self._brain, self._redis, self._chance = brain, redis, chance
        self._stream = prefix + SIGNAL_RAISED.name
        self.sent = 0

    async def all_of(self, raises: Sequence[Raised], pause: Callable[[], Awaitable[None]]) -> None:
        """Send raises in order, batch by batch; copies come with a later batch in random order."""
        late: list[Raised] = []
        for start in range(0, len(raises), BATCH):
            batch = raises[start : start + BATCH]
            await self.append([*(each for each in batch if not each.by_http), *late])
            await asyncio.gather(*(self._post(each) for each in batch if each.by_http))
            late = [each for each in batch if not each.by_http for _ in range(each.copies)]
            self._chance.shuffle(late)
            self.sent += len(batch)
            await pause()

    async def append(self, raises: Iterable[Raised]) -> None:
        """Send by XADD and ignore an unavailable server; the database shows whether they arrived."""
        with contextlib.suppress(*AWAY):
            async with self._redis.pipeline(transaction=False) as pipeline:
                for each in raises:
                    pipeline.xadd(self._stream, {FIELD: event(each)})
                await pipeline.execute()

    async def insist(self, raises: Sequence[Raised], uncounted: Callable[[], set[str]], every_s: float = 2.0) -> None:
        """Send again, in random order, the raises of signals that the database has not fully counted; the caller sets
        the time limit. Raises that HTTP has acknowledged are not repeated."""
        while keys := await asyncio.to_thread(uncounted):
            again = [each for each in raises if each.key in keys and not each.by_http]
            self._chance.shuffle(again)
            for start in range(0, len(again), 500):
                await self.append(again[start : start + 500])
            await asyncio.sleep(every_s)

    async def _post(self, each: Raised) -> None:
        while True:
            try:
                await self._brain.raise_signal(
                    idempotency_key=each.id,
                    source=each.source,
                    severity=each.severity,
                    title=f"it burns at {each.key}",
                    dedup_key=each.key,
                )
            except TryLater:
                await asyncio.sleep(0.2)
            except OpenBrainError as error:
                raise AssertionError(f"a raise was refused: {error}") from error
            else:
                return


def event(each: Raised) -> bytes:
    """Return the stream entry's body."""
    data = SignalRaised(
        workspace_id=WORKSPACE,
        source=each.source,
        severity=Severity(each.severity),
        title=f"it burns at {each.key}",
        dedup_key=each.key,
    )
    return encode(SIGNAL_RAISED.name, data, event_id=each.id, at=0, source="/faults")
