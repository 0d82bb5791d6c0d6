"""Shared by every service's app.py: build the service, record failures in the database, create the app on demand."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

from openbrain import settings
from openbrain.domain.errors import error_kind, error_text
from openbrain.ports.store.generations import IndexKind
from openbrain.runtime.container import Container
from openbrain.runtime.leader import Leader
from openbrain.streams.group.delivery import Delivery, OnDead
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Check, Service

MOST_ENTRIES = 512
"""Upper limit for a service's enlarged batch."""


def consumer_service(
    container: Container,
    group: str,
    subscriptions: Sequence[Subscription],
    *,
    checks: Mapping[str, Check] = MappingProxyType({}),
    prepare: Callable[[], Awaitable[object]] | None = None,
    batches: int = 1,
    writes: bool = False,
) -> Service:
    """Build a service that closes `container` unless the container is shared. `checks`: added to the database check.
    `prepare`: awaited before the first entry is read. `batches`: multiple of the usual batch size and time. `writes`:
    the service stores texts, which pass the content policy."""
    usual = container.settings.streams
    batch = max(usual.batch, min(MOST_ENTRIES, batches * usual.batch))
    tuning = usual.tuning.model_copy(update={"batch_s": batches * usual.tuning.batch_s})
    streams = usual.model_copy(update={"batch": batch, "tuning": tuning})

    @asynccontextmanager
    async def resources() -> AsyncIterator[None]:
        if writes:
            container.content_policy.start()
        if prepare is not None:
            await prepare()
        try:
            yield
        finally:
            if not container.shared:
                await container.close()

    async def paused() -> bool:
        return group in {pause.name for pause in await container.store.groups.pauses()}

    checks = {"truth": container.store.check, **checks}
    return Service(group, subscriptions, streams, resources=resources, checks=checks, paused=paused)


def note_failure(container: Container, index: IndexKind) -> OnDead:
    """Record the reason of a dead letter on the memory's row, whose state becomes failed. Dead letters of a generation
    that does not serve say nothing about the memory and are ignored."""

    async def on_dead(delivery: Delivery[Any], error: Exception) -> None:
        if vars(delivery.event.data).get("generation") is not None:
            return
        reason = f"{error_kind(error)}: {error_text(error)}"
        await container.store.index_marks.record_failure(index, delivery.event.data.memory_id, reason)

    return on_dead


def lazy_app(
    name: str,
    services: Mapping[str, Callable[[Container], Service]],
    companion: Callable[[Container], Leader] | None = None,
) -> Any:
    """For a module's `__getattr__`: create the application of this name from the process's settings. `companion` adds a
    leader for periodic jobs."""
    if name not in services:
        raise AttributeError(name)
    loaded = settings.load()
    container = Container(loaded)
    return services[name](container).app(loaded.logs, companions=[] if companion is None else [companion(container)])
