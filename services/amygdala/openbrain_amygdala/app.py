"""amygdala as a process: `faststream run openbrain_amygdala.app:app`, or a service of `openbrain up`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from openbrain.domain.events.data import ForeignEvent, SignalAcknowledged, SignalRaised
from openbrain.domain.events.streams import SIGNAL_ACKNOWLEDGED, SIGNAL_RAISED, StreamSpec
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.runtime.consumers import consumer_service, lazy_app
from openbrain.runtime.container import Container
from openbrain.runtime.leader import Leader, PeriodicJob, notifying
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain_amygdala.handlers.foreign_events import raise_foreign
from openbrain_amygdala.handlers.signal_acknowledged import record_acknowledgements
from openbrain_amygdala.handlers.signal_raised import raise_all
from openbrain_amygdala.jobs.sweep import Retention, purge, sweep
from openbrain_amygdala.jobs.webhooks import Posting, post_again, post_due
from openbrain_amygdala.unacknowledged import Unacknowledged

ROUND = 500
"""Maximum rows of each kind per round of `purge`."""
PURGE_EVERY_S = 600.0
POST_EVERY_S = 0.25
POST_AGAIN, POST_AGAIN_EVERY_S = 50, 1.0


def service(container: Container) -> Service:
    """Consume raises and acknowledgements, from the shared streams and those of each bound workspace. A backlog does
    not stop them: alarms are accepted even while writes of memories are refused."""

    async def raised(batch: Sequence[Delivery[SignalRaised]]) -> list[Exception | None]:
        results = await raise_all(
            batch, signals=container.store.signals, now=container.clock.now(), content_policy=container.content_policy
        )
        await container.wake.notify()
        return results

    async def acknowledged(batch: Sequence[Delivery[SignalAcknowledged]]) -> list[Exception | None]:
        results = await record_acknowledgements(batch, store=container.store, now=container.clock.now())
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
    # Isolated: acknowledgements by a whole fleet must not delay alarms.
    acks = [
        Subscription(spec=SIGNAL_ACKNOWLEDGED, handler=acknowledged, workspace=workspace, isolated=True)
        for workspace in workspaces
    ]
    others = [Subscription(spec=_foreign(name), handler=came, isolated=True) for name in events.streams]
    return consumer_service(container, "amygdala", [*raises, *acks, *others], writes=True)


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
    """The jobs of the leading replica: time-based changes of signals, and posts to webhooks."""
    signals, webhooks = container.settings.signals, container.settings.webhooks
    kept = Retention(
        broadcasts=round(container.settings.streams.retention_s * MICROSECONDS),
        signals=signals.retention_days * DAY,
        subscribers=signals.tuning.subscriber_days * DAY,
        dead_letters=webhooks.tuning.dead_days * DAY,
    )

    tuning = signals.tuning
    swept = notifying(container.wake, partial(sweep, container.store, tuning.sweep_batch))
    jobs = [
        PeriodicJob.every(tuning.sweep_every_s, "sweep", swept, full=tuning.sweep_batch),
        PeriodicJob.every(PURGE_EVERY_S, "purge", partial(purge, container.store, ROUND, kept), full=ROUND),
    ]
    if webhooks.enabled:
        posting = Posting(container.store, container.poster, webhooks.tuning.backoff_s)
        posted = partial(post_due, container.store, posting, webhooks.tuning.at_once)
        posted_again = partial(post_again, container.store, container.poster, POST_AGAIN)
        jobs += [
            PeriodicJob.every(POST_EVERY_S, "webhooks", posted, full=1),
            PeriodicJob.every(POST_AGAIN_EVERY_S, "replays", posted_again, full=1),
        ]
    return Leader(
        "amygdala-duties",
        container.store.leases,
        jobs,
        lease_s=container.settings.housekeeping.tuning.lease_s,
        checks={"truth": container.store.check},
        measure=Unacknowledged(container.store.signals).measure,
    )


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": service}, companion=periodic_jobs)
