"""tick as a process: `faststream run openbrain_tick.app:app`, or a service of `openbrain up`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from openbrain.domain.events.data import TickRequested
from openbrain.domain.events.streams import TICK_REQUESTED
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.vault import TickJob
from openbrain.runtime.consumers import consumer_service, lazy_app
from openbrain.runtime.container import Container
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.runtime import consumer_name
from openbrain.streams.reading.service import Service
from openbrain_tick.handlers.tick_requested import HOLD_S, handle, handle_all
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from openbrain_tick.vaults import Vaults


def ports_of(container: Container) -> Ports:
    """The ports for all ticks of this process."""
    settings = container.settings
    return Ports(
        store=container.store,
        clock=container.clock,
        content_policy=container.content_policy,
        reasoner=container.reasoner,
        prober=container.prober,
        probes=settings.vaults.probes,
        prompt_chars=settings.reasoner.prompt_chars,
        transcripts=container.transcripts,
        since_h=settings.tick.tuning.extract_since_h,
        min_turns=settings.tick.tuning.extract_min_turns,
        forget_share=settings.tick.forget_share,
        held_us=round(settings.tick.tuning.late_s * MICROSECONDS),
    )


def service(container: Container) -> Service:
    """Consume requests for ticks, from the schedule, the API and producers."""
    settings = container.settings
    vaults = Vaults(settings)
    hold_s = min(HOLD_S, settings.streams.lease_s * 0.75)

    async def work(job: TickJob) -> dict[str, Any]:
        return await tick(job, vaults.of(job.workspace_id), ports_of(container))

    async def handle_batch(batch: Sequence[Delivery[TickRequested]]) -> list[Exception | None]:
        ticks, holder = container.store.ticks, consumer_name()
        handle_one = partial(handle, ticks=ticks, clock=container.clock, work=work, holder=holder, hold_s=hold_s)
        results = await handle_all(batch, handle_one)
        await container.wake.notify()
        return results

    subscriptions = [Subscription(spec=TICK_REQUESTED, handler=handle_batch)]
    return consumer_service(container, "tick", subscriptions, writes=True)


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": service})
