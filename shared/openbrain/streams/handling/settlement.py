"""Settlement of an entry: acknowledge it, park it for another attempt, or make it a dead letter."""

from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Any, TypeVar

import structlog

from openbrain.domain.errors import NeverRetry, SetupError, TryLater, error_kind, error_text
from openbrain.streams.group.consumer_group import ConsumerGroup
from openbrain.streams.group.delivery import Delivery, Entry, OnDead
from openbrain.streams.handling.backoff import ErrorState
from openbrain.streams.handling.breaker import UNAVAILABLE
from openbrain.streams.handling.runtime import Runtime
from openbrain.streams.redis.connection import AWAY, is_gone

T = TypeVar("T")
_log = structlog.get_logger(__name__)


class Abandoned(NeverRetry):
    """Too many consumers ended while this entry was pending for them: it may be crashing them."""


class Settlement:
    """Settles entries of one stream and group. Repeats a call until Redis answers; raises `Closing` and cancellation
    only."""

    def __init__(
        self,
        runtime: Runtime,
        group: ConsumerGroup,
        on_dead: OnDead | None,
        *,
        held: Container[str],
        count: Callable[[str, int], None],
        tried: Callable[[TryLater | SetupError | None], None],
    ) -> None:
        """`tried`: told that a dependency was unavailable, and that it answers again."""
        self._runtime, self._group, self._on_dead = runtime, group, on_dead
        self._held, self._count, self._tried = held, count, tried
        self._attempts = len(runtime.settings.backoff_s) + 1

    async def acknowledge(self, ids: Sequence[str], loop: str) -> None:
        """Acknowledge handled entries."""
        await self._until_answered(loop, lambda: self._group.ack(ids))
        self._count("handled", len(ids))

    async def give_back(self, ids: Sequence[str], loop: str) -> None:
        """Give entries back to other consumers, due at once and without counting an attempt."""
        given = await self._until_answered(loop, lambda: self._group.give_back(ids)) or 0
        self._count("released", given)
        if given > 1:  # a single one is a failed probe, which repeats
            _log.info("streams.entries_released", stream=self._group.stream, entries=given)

    async def give_up(self, failed: Sequence[tuple[Delivery[Any] | Entry, Exception]], loop: str) -> None:
        """Note a failed attempt of each: park it, or bury it if it was the last. An `Entry` is one that could not be
        parsed."""
        again = []
        for held, error in failed:
            last = isinstance(error, NeverRetry) or held.failures + 1 >= self._attempts
            tried = isinstance(held, Delivery) or not last  # an entry that can't be parsed was not attempted
            if tried and not isinstance(error, Abandoned):
                self._count("failed", 1)
            if last:
                await self._bury(held, error, loop)
            else:
                again.append((held, error))
                _log.warning(
                    "streams.entry_parked",
                    stream=self._group.stream,
                    entry=held.id,
                    attempt=held.failures + 1,
                    error=error_kind(error),
                    message=error_text(error),
                )
        if again:
            await self._until_answered(loop, lambda: self._group.park(again))
            self._count("parked", len(again))

    async def _bury(self, held: Delivery[Any] | Entry, error: Exception, loop: str) -> None:
        """Make the entry a dead letter, after calling `on_dead` with the reason."""
        entry = held.entry if isinstance(held, Delivery) else held
        if isinstance(held, Delivery) and self._on_dead is not None:
            await self._tell(self._on_dead, held, error, loop)
        attempted = not isinstance(error, Abandoned)
        if await self._until_answered(loop, lambda: self._group.bury(entry, error, attempted=attempted)):
            self._count("dead", 1)
            _log.error(
                "streams.entry_dead",
                stream=self._group.stream,
                entry=entry.id,
                dead_letters=self._group.dead,
                error=error_kind(error),
                message=error_text(error),
            )

    async def _tell(self, on_dead: OnDead, delivery: Delivery[Any], error: Exception, loop: str) -> None:
        waited = False
        while delivery.id in self._held:
            try:
                await on_dead(delivery, error)
            except UNAVAILABLE as later:
                waited = True
                self._tried(later)
                self._runtime.heartbeat(loop, 2 * self._runtime.settings.tuning.breaker_max_s + 60)
                await self._runtime.until_dependencies_answer()
            except Exception as failure:  # noqa: BLE001 - the dead letter has the reason in any case
                _log.error(
                    "streams.on_dead_failed", entry=delivery.id, error=error_kind(failure), message=error_text(failure)
                )
                return
            else:
                if waited:
                    self._tried(None)
                return

    async def _until_answered(self, loop: str, call: Callable[[], Awaitable[T]]) -> T | None:
        """Repeat a call until Redis answers. None if the stream or the group is gone, and the entry with it."""
        error_state = ErrorState(loop, self._runtime.settings.tuning.reconnect_max_s, self._runtime.sleep)
        while True:
            try:
                result = await call()
            except AWAY as error:
                if is_gone(error):
                    return None
                self._runtime.heartbeat(loop)
                await error_state.record(error)
            else:
                error_state.clear()
                return result
