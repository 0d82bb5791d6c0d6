"""Processes a batch: parse each entry, handle it, acknowledge it if done, park or bury it if failed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Container, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from time import perf_counter
from typing import Any

import structlog

from openbrain.domain.errors import Invalid, NeverRetry, SetupError, TryLater, error_kind, error_text
from openbrain.domain.tasks import Backoff
from openbrain.observability import metrics
from openbrain.streams.group.consumer_group import ALONE_AFTER, ConsumerGroup
from openbrain.streams.group.delivery import Delivery, Entry, one_each
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.adaptive_batch import AdaptiveBatch
from openbrain.streams.handling.breaker import UNAVAILABLE
from openbrain.streams.handling.deferred import Deferred
from openbrain.streams.handling.failure_limit import FailureLimit
from openbrain.streams.handling.runtime import Closing, Runtime
from openbrain.streams.handling.settlement import Abandoned, Settlement

_AT_A_STRETCH = 64
"""Entries parsed before yielding to the event loop."""
_log = structlog.get_logger(__name__)


class Consumer:
    """Processes the entries of one stream for one group in this process."""

    def __init__(
        self, runtime: Runtime, group: ConsumerGroup, subscription: Subscription, yields: Callable[[], bool]
    ) -> None:
        self.runtime, self.group, self.subscription = runtime, group, subscription
        self.adaptive_batch = AdaptiveBatch(runtime.settings.batch, runtime.settings.tuning.batch_s)
        self.held: dict[str, object] = {}
        """The pending entries in order: waiting, being handled or held back by the breaker; each with a mark of its
        batch. A parked entry may be due, and in another batch, before the rest of its first batch is done."""
        self.deferred = Deferred(runtime.breaker, runtime.settings.tuning.aside if subscription.degraded_handler else 0)
        self._settling: set[str] = set()
        """Entries whose settlement is being sent to Redis: a lease renewal after it does not find them, as expected."""
        self._yields = yields
        self._decode = subscription.spec.decoder()
        settings, labels = runtime.settings, (group.metric_stream, runtime.group)
        self.limit = FailureLimit(
            group.stream,
            runtime.group,
            Backoff(settings.tuning.breaker_s, settings.tuning.breaker_max_s),
            share=settings.tuning.failing_share,
            least=settings.tuning.failing_least,
            clock=runtime.clock,
        )
        self.settlement = Settlement(
            runtime, group, subscription.on_dead, held=self.held, count=self.count, tried=self._tried
        )
        self._seconds = metrics.STREAM_HANDLER_SECONDS.labels(*labels)
        self._sizes = metrics.STREAM_BATCH_ENTRIES.labels(*labels)
        self._breaker_open = metrics.STREAM_BREAKER_OPEN.labels(runtime.group)
        self._breaker_open.set(0)
        self._outcomes = {
            outcome: metrics.STREAM_ENTRIES.labels(*labels, outcome)
            for outcome in ("handled", "failed", "parked", "dead", "abandoned", "taken", "released", "lost")
        }

    @property
    def reads_nothing(self) -> bool:
        """Whether nothing is read: the group is paused, or this is a replay that does not exist."""
        runtime = self.runtime
        return runtime.paused.is_set() or (self.group.is_replay and self.group.stream not in runtime.replaying)

    def count(self, outcome: str, number: int = 1) -> None:
        self._outcomes[outcome].inc(number)

    async def process(self, entries: Sequence[Entry], loop: str, *, counted: bool = True) -> None:
        """Handle these entries, then acknowledge, park, bury or defer each. Raises `Closing` and cancellation only.
        `counted` False: failures are the entries' own and do not count for the failure limit."""
        with self._holding(entries):
            await self._work(await self._parse(entries, loop, counted=counted), loop, counted=counted)

    async def try_kept(self, loop: str) -> None:
        """Process the entries kept when most entries failed: one entry while that lasts; afterwards all, without
        counting their failures for the limit."""
        counted = self.limit.stopped
        while entries := self.limit.take(1 if counted else self.adaptive_batch.size):
            await self.process(entries, loop, counted=counted)
            if counted or self.limit.stopped:
                return

    async def try_deferred(self, loop: str) -> None:
        """Process the deferred entries in order, until all are done or the dependency is unavailable again."""
        while self.deferred.due:
            await self._work(self.deferred.first(self.adaptive_batch.size), loop)

    @property
    def in_hand(self) -> Container[str]:
        """The entries that must not be claimed again: the pending ones except those being settled."""
        return self.held.keys() - self._settling

    @contextmanager
    def _holding(self, entries: Sequence[Entry]) -> Iterator[None]:
        batch = object()
        for entry in entries:
            self.held[entry.id] = batch
        try:
            yield
        finally:
            for entry in entries:
                if entry.id not in self.deferred.waiting and entry.id not in self.limit.kept:
                    self._let_go(entry.id, batch)

    def _let_go(self, entry: str, batch: object) -> None:
        if self.held.get(entry) is batch:
            del self.held[entry]

    async def _parse(self, entries: Sequence[Entry], loop: str, *, counted: bool = True) -> list[Delivery[Any]]:
        stream, workspace = self.group.stream, self.subscription.workspace
        good: list[Delivery[Any]] = []
        bad: list[tuple[Entry, Exception]] = []
        for number, entry in enumerate(entries, 1):
            if number % _AT_A_STRETCH == 0:
                await asyncio.sleep(0)
            raw = self.subscription.raw(entry)
            try:
                if raw is None:
                    raise Invalid("__data__", "the entry has no such field")  # noqa: TRY301 - handled like the other errors
                good.append(Delivery(entry.id, stream, workspace, self._decode(raw), entry))
            except Exception as error:  # noqa: BLE001 - a bad entry must not stop the others
                bad.append((entry, error))
        countable = [] if self.subscription.spec.from_outside else bad
        if counted and countable and self.limit.note(0, len(countable), countable[-1][1], unknown=len(good)):
            self._keep([entry for entry, _ in countable])
        else:
            await self.settlement.give_up(bad, loop)
        return good

    async def _work(self, batch: Sequence[Delivery[Any]], loop: str, *, counted: bool = True) -> None:
        # An entry that may have crashed its consumers is never handled with others.
        may_defer = self.deferred.possible and all(delivery.abandonments < ALONE_AFTER for delivery in batch)
        while batch:
            async with self._turn(loop, may_defer=may_defer) as degraded:
                batch = [delivery for delivery in batch if delivery.id in self.held]
                if not batch:
                    return
                if counted and self.limit.stopped and len(batch) > 1:
                    self._keep([delivery.entry for delivery in batch])
                    return
                results = await self._handle(batch, loop, degraded=degraded)
            if results is None:
                await self._each(batch, loop, counted=counted)
                return
            batch = await self._settle(batch, results, loop, degraded=degraded, counted=counted)
            # Otherwise the handler raised for the whole batch, and some entries may not need the dependency.
            if may_defer and degraded:
                self.deferred.put(batch)
                return

    async def _each(self, batch: Sequence[Delivery[Any]], loop: str, *, counted: bool) -> None:
        """Handle each delivery alone, because one of them fails the batch. If most fail, keep the rest, before those
        that failed."""
        for number, delivery in enumerate(batch):
            if counted and self.limit.stopped:
                failed = self.limit.take(len(self.limit.kept))
                self._keep([*(item.entry for item in batch[number:]), *failed])
                return
            await self._work([delivery], loop, counted=counted)

    def _keep(self, entries: Sequence[Entry]) -> None:
        self.limit.keep(entries)
        self.deferred.drop(entry.id for entry in entries)

    @asynccontextmanager
    async def _turn(self, loop: str, *, may_defer: bool) -> AsyncIterator[bool]:
        """Hold the service's lock; yield whether a dependency is unavailable, which can be only if entries may be
        deferred."""
        runtime = self.runtime
        while True:
            runtime.heartbeat(loop, 2 * runtime.settings.tuning.breaker_max_s + 60)
            if not (may_defer and self.deferred.can_continue):
                await runtime.until_dependencies_answer()
            if self._yields() or runtime.paused.is_set():
                await runtime.sleep(0.05)
                continue
            runtime.heartbeat(loop, float("inf"))  # the holder of the lock is watched instead
            async with runtime.lock:
                if runtime.closing.is_set():
                    raise Closing
                away = runtime.breaker.wait_s() > 0
                if away and not (may_defer and self.deferred.can_continue):
                    continue
                if self._yields() or runtime.paused.is_set():
                    continue
                runtime.heartbeat(loop, runtime.handler_limit_s)
                yield away
                runtime.heartbeat(loop)
                return

    async def _handle(
        self, batch: Sequence[Delivery[Any]], loop: str, *, degraded: bool
    ) -> Sequence[Exception | None] | None:
        """Return one result per delivery; None if it is unknown which of them failed."""
        handler = (self.subscription.degraded_handler if degraded else None) or self.subscription.handler
        self.deferred.degraded_failed = False
        started = perf_counter()
        if len(batch) == 1 and (exhausted := self._exhausted(batch[0])):
            return [exhausted]
        try:
            with metrics.batch_span(f"{self.group.stream} process", (item.event.traceparent for item in batch)):
                results = await handler(batch)
                return one_each(results, len(batch))
        except UNAVAILABLE as error:
            self.deferred.degraded_failed = degraded
            return [error] * len(batch)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is a failed attempt
            if len(batch) == 1:
                return [error]
            _log.warning(
                "streams.batch_failed",
                loop=loop,
                entries=len(batch),
                error=error_kind(error),
                message=error_text(error),
            )
            return None
        finally:
            seconds = perf_counter() - started
            if not degraded:
                self.adaptive_batch.handled(len(batch), seconds)
            self._seconds.observe(seconds)
            self._sizes.observe(len(batch))

    def _exhausted(self, delivery: Delivery[Any]) -> Exception | None:
        # An entry abandoned this often is always handled alone.
        limit = self.runtime.settings.tuning.abandoned_limit
        if delivery.abandonments <= limit:
            return None
        return Abandoned(
            f"abandoned {delivery.abandonments} times, {limit} are allowed: look for what ended its consumers"
        )

    async def _settle(
        self,
        batch: Sequence[Delivery[Any]],
        results: Sequence[Exception | None],
        loop: str,
        *,
        degraded: bool,
        counted: bool,
    ) -> list[Delivery[Any]]:
        """Acknowledge, park and bury the deliveries, or keep failed ones if most fail. Return those that wait for a
        dependency."""
        done: list[str] = []
        waiting: list[Delivery[Any]] = []
        failed: list[tuple[Delivery[Any], Exception]] = []
        later: TryLater | SetupError | None = None
        for delivery, result in zip(batch, results, strict=True):
            if result is None:
                done.append(delivery.id)
            elif isinstance(result, UNAVAILABLE):
                later = result
                waiting.append(delivery)
            else:
                failed.append((delivery, result))
        if not degraded:
            self._tried(later)
        if counted:
            failed = self._kept_back(failed, len(done))
        ended = {entry: self.held.get(entry) for entry in (*done, *(delivery.id for delivery, _ in failed))}
        self._settling.update(ended)
        try:
            if done:
                await self.settlement.acknowledge(done, loop)
            if failed:
                await self.settlement.give_up(failed, loop)
        finally:
            self.deferred.drop(ended)
            for entry, holder in ended.items():
                self._let_go(entry, holder)
                self._settling.discard(entry)
        return waiting

    def _kept_back(
        self, failed: list[tuple[Delivery[Any], Exception]], done: int
    ) -> list[tuple[Delivery[Any], Exception]]:
        """If most entries fail, keep the failed deliveries that count for the limit. Return the other failed ones."""
        outside = self.subscription.spec.from_outside
        countable = {
            delivery.id: error
            for delivery, error in failed
            # An outside producer may send anything: refusing it is a normal result.
            if not isinstance(error, Abandoned) and not (outside and isinstance(error, NeverRetry))
        }
        last = next(reversed(countable.values()), None)
        if not self.limit.note(done, len(countable), last):
            return failed
        self._keep([delivery.entry for delivery, _ in failed if delivery.id in countable])
        return [item for item in failed if item[0].id not in countable]

    async def renew(self) -> None:
        """Renew the leases of all pending entries; forget those that are no longer ours. Raises redis-py's errors."""
        if not self.held:
            if not self.group.is_replay:
                await self.group.be_seen()
            return
        for entry in await self.group.renew(list(self.held)):
            if entry in self.held and entry not in self._settling:
                del self.held[entry]
                self.deferred.drop([entry])
                self.limit.drop([entry])
                self.count("lost")
                _log.warning("streams.lease_lost", stream=self.group.stream, entry=entry)

    def _tried(self, error: TryLater | SetupError | None) -> None:
        breaker, open_breakers = self.runtime.breaker, self.runtime.open_breakers
        if error is None:
            breaker.succeeded()
            open_breakers.discard(breaker)
        else:
            breaker.failed(error)
            open_breakers.add(breaker)
        self._breaker_open.set(bool(open_breakers))
