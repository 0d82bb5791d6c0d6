"""ingest as a process: `faststream run openbrain_ingest.app:app`, or a service of `openbrain up`."""

from collections.abc import Sequence
from typing import Any

from openbrain.domain.events.streams import SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import DAY
from openbrain.runtime.consumers import consumer_service, lazy_app
from openbrain.runtime.container import Container
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain.usecases.submit import Tenants
from openbrain_ingest.handlers.memory_submitted import accept


def service(container: Container) -> Service:
    """Consume submissions from the shared stream and from that of each bound workspace."""
    tenants = Tenants(container.store.workspaces)
    settings = container.settings

    async def handle(batch: Sequence[Delivery[MemorySubmitted]]) -> list[Exception | None]:
        await container.pressure.admit_events()
        results = await accept(
            batch,
            writes=container.store.writes,
            tenants=tenants,
            clock=container.clock,
            content_policy=container.content_policy,
            key_lifetime=settings.housekeeping.tuning.stream_key_days * DAY,
        )
        await container.wake.notify()
        return results

    workspaces = (None, *settings.streams.bound_workspaces)
    subscriptions = [Subscription(spec=SUBMITTED, handler=handle, workspace=workspace) for workspace in workspaces]
    checks = {"outbox": container.pressure.admit_events}
    return consumer_service(container, "ingest", subscriptions, checks=checks, writes=True)


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": service})
