"""ingest as a process: `faststream run openbrain_ingest.app:app`, or a room of `openbrain up`."""

from collections.abc import Sequence
from typing import Any

from openbrain.domain.memory import DAY
from openbrain.domain.streams import SUBMITTED
from openbrain.domain.submission import MemorySubmitted
from openbrain.runtime.consumers import lazy_app, room_of
from openbrain.runtime.container import Parts
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Room
from openbrain.usecases.submit import Tenants
from openbrain_ingest.handlers import accept


def room(parts: Parts) -> Room:
    """Submissions, from the shared stream and from the one of each bound workspace."""
    tenants = Tenants(parts.truth)
    settings = parts.settings

    async def handle(batch: Sequence[Delivery[MemorySubmitted]]) -> list[Exception | None]:
        await parts.pressure.admit_events()
        results = await accept(
            batch,
            truth=parts.truth,
            tenants=tenants,
            clock=parts.clock,
            gate=parts.gate,
            key_lifetime=settings.housekeeping.stream_key_days * DAY,
        )
        await parts.wake.notify()
        return results

    workspaces = (None, *settings.streams.bound_workspaces)
    subscriptions = [Subscription(spec=SUBMITTED, handler=handle, workspace=workspace) for workspace in workspaces]
    checks = {"truth": parts.truth.check, "outbox": parts.pressure.admit_events}
    return room_of(parts, "ingest", subscriptions, checks=checks)


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": room})
