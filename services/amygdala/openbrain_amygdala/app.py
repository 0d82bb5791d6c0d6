"""amygdala as a process: `faststream run openbrain_amygdala.app:app`, or a service of `openbrain up`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from openbrain import settings as all_settings
from openbrain.domain.events.data import ForeignEvent, SignalAcknowledged, SignalRaised
from openbrain.domain.events.streams import SIGNAL_ACKNOWLEDGED, SIGNAL_RAISED, StreamSpec
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.runtime.consumers import consumer_service
from openbrain.runtime.container import Container
from openbrain.runtime.leader import Leader, PeriodicJob
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain_amygdala.handlers.foreign_events import raise_foreign
from openbrain_amygdala.handlers.signal_acknowledged import hear_all
from openbrain_amygdala.handlers.signal_raised import raise_all
from openbrain_amygdala.jobs.sweep import Retention, purge, sweep
from openbrain_amygdala.jobs.webhooks import Posting, post_again, post_due
from openbrain_amygdala.unacknowledged import Unacknowledged

ROUND = 500
"""Rows that one round of purging takes, of each kind."""
PURGE_EVERY_S = 600.0
POST_EVERY_S = 0.25
POST_AGAIN, POST_AGAIN_EVERY_S = 50, 1.0


def service(container: Container) -> Service:
    """Raises and acknowledgements, from the shared streams and from those of each bound workspace. No backlog holds
    them up: an alarm is taken while writes of memories are refused."""

    async def raised(batch: Sequence[Delivery[SignalRaised]]) -> list[Exception | None]:
        results = await raise_all(
            batch,
            signals=container.store.signals,
            now=container.clock.now(),
            content_policy=container.content_policy,
        )
        await container.wake.notify()
        return results

    async def heard(batch: Sequence[Delivery[SignalAcknowledged]]) -> list[Exception | None]:
        results = await hear_all(batch, store=container.store, now=container.clock.now())
        await container.wake.notify()
        return results

    async def came(batch: Sequence[Delivery[ForeignEvent]]) -> None:
        await raise_foreign(
            batch,
            signals=container.store.signals,
            rules=events,
            now=container.clock.now(),
            content_policy=container.content_policy,
        )
        await container.wake.notify()

    events = container.settings.events
    workspaces = (None, *container.settings.streams.bound_workspaces)
    raises = [Subscription(spec=SIGNAL_RAISED, handler=raised, workspace=workspace) for workspace in workspaces]
    # A fleet that acknowledges holds up no alarm.
    acks = [
        Subscription(spec=SIGNAL_ACKNOWLEDGED, handler=heard, workspace=workspace, apart=True)
        for workspace in workspaces
    ]
    others = [Subscription(spec=_foreign(name), handler=came, apart=True) for name in events.streams]
    return consumer_service(
        container, "amygdala", [*raises, *acks, *others], checks={"truth": container.store.check}, writes=True
    )


def _foreign(name: str) -> StreamSpec:
    return StreamSpec(
        name=name,
        data=ForeignEvent,
        published_by="another system",
        groups=("amygdala",),
        from_outside=True,
        foreign=True,
        about="Events of another system, some of which are signals.",
    )


def periodic_jobs(container: Container) -> Leader:
    """Changes of signals by time, and posts to webhooks: by one replica."""
    signals, webhooks = container.settings.signals, container.settings.webhooks
    kept = Retention(
        broadcasts=round(container.settings.streams.retention_s * MICROSECONDS),
        signals=signals.retention_days * DAY,
        subscribers=signals.tuning.subscriber_days * DAY,
        dead_letters=webhooks.tuning.dead_days * DAY,
    )

    async def swept() -> int:
        moved = await sweep(container.store, signals.tuning.sweep_batch)
        if moved:
            await container.wake.notify()
        return moved

    jobs = [
        PeriodicJob(
            "sweep",
            swept,
            _pause(signals.tuning.sweep_every_s, signals.tuning.sweep_batch),
            signals.tuning.sweep_every_s,
        ),
        PeriodicJob("purge", lambda: purge(container.store, ROUND, kept), _pause(PURGE_EVERY_S, ROUND), PURGE_EVERY_S),
    ]
    if webhooks.enabled:
        posting = Posting(container.store, container.poster, webhooks.tuning.backoff_s)

        async def posted() -> int:
            return await post_due(container.store, posting, webhooks.tuning.at_once)

        async def posted_again() -> int:
            return await post_again(container.store, container.poster, POST_AGAIN)

        jobs += [
            PeriodicJob("webhooks", posted, _pause(POST_EVERY_S, 1), POST_EVERY_S),
            PeriodicJob("replays", posted_again, _pause(POST_AGAIN_EVERY_S, 1), POST_AGAIN_EVERY_S),
        ]
    return Leader(
        "amygdala-duties",
        container.store.leases,
        jobs,
        lease_s=container.settings.housekeeping.tuning.lease_s,
        checks={"truth": container.store.check},
        close=_nothing,
        measure=Unacknowledged(container.store.signals).measure,
    )


def _pause(seconds: float, full: int) -> Callable[[int], Awaitable[object]]:
    """At once after a full round, else after the pause."""
    return lambda done: asyncio.sleep(0 if done >= full else seconds)


async def _nothing() -> None:
    """The parts are closed by the service."""


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    loaded = all_settings.load()
    container = Container(loaded)
    return service(container).app(loaded.logs, beside=[periodic_jobs(container)])
