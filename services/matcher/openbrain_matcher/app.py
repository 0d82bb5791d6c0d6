"""matcher as a process: `faststream run openbrain_matcher.app:app`, or a service of `openbrain up`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from openbrain.domain.events.data import MemoryEmbedded
from openbrain.domain.events.streams import EMBEDDED
from openbrain.domain.memory import DAY
from openbrain.ports.subscriptions import QueuedMemory
from openbrain.runtime.consumers import consumer_service, lazy_app
from openbrain.runtime.container import Container
from openbrain.runtime.leader import LONG_ROUND_S, Leader, PeriodicJob
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain_matcher.handlers.matching import match
from openbrain_matcher.jobs.backlog import ROUND, embed_queries, match_queued
from openbrain_matcher.jobs.replays import replay
from openbrain_matcher.jobs.webhooks import Posting, post_due
from openbrain_matcher.matching.books import Books

BATCHES = 4
"""Multiple of the usual batch size: a batch is one transaction, whatever its size."""
QUEUED_EVERY_S = 0.5
VECTORS_EVERY_S = REPLAYS_EVERY_S = 1.0
POST_EVERY_S = 0.25
PURGE_EVERY_S, PURGE, REMOVED_KEPT = 600.0, 500, DAY


def service(container: Container) -> Service:
    """Match every new memory against the standing queries of its workspace."""
    store, clock = container.store, container.clock
    books = Books(store.standing_queries, clock)

    async def handle(batch: Sequence[Delivery[MemoryEmbedded]]) -> None:
        events = [delivery.event.data for delivery in batch]
        memories = {
            event.memory_id: QueuedMemory(event.memory_id, event.workspace_id, event.revision, event.model)
            for event in sorted(events, key=lambda item: item.revision)
            if event.generation is None
        }
        await match(list(memories.values()), store=store, books=books, now=clock.now())

    return consumer_service(container, "matcher", [Subscription(spec=EMBEDDED, handler=handle)], batches=BATCHES)


def periodic_jobs(container: Container) -> Leader:
    """The jobs of the leading replica."""
    store, clock, webhooks = container.store, container.clock, container.settings.webhooks
    books = Books(store.standing_queries, clock)

    async def purged() -> int:
        return await store.standing_queries.purge_queries(clock.now() - REMOVED_KEPT, PURGE)

    queued = partial(match_queued, store, books, clock)
    embedded = partial(embed_queries, store, container.embedders, clock)
    jobs = [
        PeriodicJob.every(QUEUED_EVERY_S, "queued", queued, full=ROUND),
        PeriodicJob.every(VECTORS_EVERY_S, "vectors", embedded, full=1, round_s=LONG_ROUND_S),
        PeriodicJob.every(REPLAYS_EVERY_S, "replays", partial(replay, store, clock), full=1),
        PeriodicJob.every(PURGE_EVERY_S, "purge", purged, full=PURGE),
    ]
    if webhooks.enabled:
        posting, at_once = Posting(store, container.poster, clock, webhooks.tuning.backoff_s), webhooks.tuning.at_once
        jobs.append(PeriodicJob.every(POST_EVERY_S, "webhooks", partial(post_due, posting, at_once), full=at_once))
    return Leader(
        "matcher-duties",
        store.leases,
        jobs,
        lease_s=container.settings.housekeeping.tuning.lease_s,
        checks={"truth": store.check},
    )


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": service}, companion=periodic_jobs)
