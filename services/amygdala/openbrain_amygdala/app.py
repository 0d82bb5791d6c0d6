"""amygdala as a process: `faststream run openbrain_amygdala.app:app`, or a room of `openbrain up`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from openbrain import settings as all_settings
from openbrain.domain.events import ForeignEvent, SignalAcknowledged, SignalRaised
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.streams import SIGNAL_ACKNOWLEDGED, SIGNAL_RAISED, StreamSpec
from openbrain.runtime.consumers import room_of
from openbrain.runtime.container import Parts
from openbrain.runtime.leader import Duty, Leader
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Room
from openbrain_amygdala.handlers.foreign import raise_foreign
from openbrain_amygdala.handlers.hearing import hear_all
from openbrain_amygdala.handlers.posting import Posting, post_again
from openbrain_amygdala.handlers.raising import raise_all
from openbrain_amygdala.handlers.sweeping import Kept, purge, sweep

ROUND = 500
"""Rows that one round of purging takes, of each kind."""
PURGE_EVERY_S = 600.0
POST_EVERY_S = 0.25
POST_AGAIN, POST_AGAIN_EVERY_S = 50, 1.0


def room(parts: Parts) -> Room:
    """Raises and acknowledgements, from the shared streams and from those of each bound workspace. No backlog holds
    them up: an alarm is taken while writes of memories are refused."""

    async def raised(batch: Sequence[Delivery[SignalRaised]]) -> list[Exception | None]:
        results = await raise_all(batch, truth=parts.truth, now=parts.clock.now())
        await parts.wake.notify()
        return results

    async def heard(batch: Sequence[Delivery[SignalAcknowledged]]) -> list[Exception | None]:
        results = await hear_all(batch, truth=parts.truth, now=parts.clock.now())
        await parts.wake.notify()
        return results

    async def came(batch: Sequence[Delivery[ForeignEvent]]) -> None:
        await raise_foreign(batch, truth=parts.truth, rules=events, now=parts.clock.now())
        await parts.wake.notify()

    events = parts.settings.events
    workspaces = (None, *parts.settings.streams.bound_workspaces)
    raises = [Subscription(spec=SIGNAL_RAISED, handler=raised, workspace=each) for each in workspaces]
    # A fleet that acknowledges holds up no alarm.
    acks = [Subscription(spec=SIGNAL_ACKNOWLEDGED, handler=heard, workspace=each, apart=True) for each in workspaces]
    others = [Subscription(spec=_foreign(name), handler=came, apart=True) for name in events.streams]
    return room_of(parts, "amygdala", [*raises, *acks, *others], checks={"truth": parts.truth.check})


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


def duties(parts: Parts) -> Leader:
    """What time does to signals, and what is posted to webhooks: by one replica."""
    signals, webhooks = parts.settings.signals, parts.settings.webhooks
    kept = Kept(
        broadcasts=round(parts.settings.streams.retention_s * MICROSECONDS),
        signals=signals.retention_days * DAY,
        subscribers=signals.subscriber_days * DAY,
        dead_letters=webhooks.dead_days * DAY,
    )

    async def swept() -> int:
        moved = await sweep(parts.truth, signals.sweep_batch)
        if moved:
            await parts.wake.notify()
        return moved

    found = [
        Duty("sweep", swept, _pause(signals.sweep_every_s, signals.sweep_batch), signals.sweep_every_s),
        Duty("purge", lambda: purge(parts.truth, ROUND, kept), _pause(PURGE_EVERY_S, ROUND), PURGE_EVERY_S),
    ]
    if webhooks.enabled:
        posting = Posting(parts.truth, parts.poster, webhooks.backoff_s)

        async def posted() -> int:
            due = await parts.truth.due_webhooks(await parts.truth.time(), webhooks.at_once)
            return sum(await asyncio.gather(*(posting(each) for each in due)))

        async def posted_again() -> int:
            return await post_again(parts.truth, parts.poster, POST_AGAIN)

        found += [
            Duty("webhooks", posted, _pause(POST_EVERY_S, 1), POST_EVERY_S),
            Duty("replays", posted_again, _pause(POST_AGAIN_EVERY_S, 1), POST_AGAIN_EVERY_S),
        ]
    return Leader(
        "amygdala-duties",
        parts.truth,
        found,
        lease_s=parts.settings.housekeeping.lease_s,
        checks={"truth": parts.truth.check},
        close=_nothing,
    )


def _pause(seconds: float, full: int) -> Callable[[int], Awaitable[object]]:
    """At once after a full round, else after the pause."""
    return lambda done: asyncio.sleep(0 if done >= full else seconds)


async def _nothing() -> None:
    """The parts are closed by the room."""


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    loaded = all_settings.load()
    parts = Parts(loaded)
    return room(parts).app(loaded.logs, beside=[duties(parts)])
