"""housekeeper as a process: `faststream run openbrain_housekeeper.app:app`, or a service of `openbrain up`."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from faststream.asgi import AsgiFastStream
from faststream.redis import RedisBroker
from faststream.specification import AsyncAPI
from redis.asyncio import Redis

import openbrain
from openbrain import settings as all_settings
from openbrain.domain.events import streams as table
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.memory import MICROSECONDS
from openbrain.observability import logs
from openbrain.observability.gc_tuning import long_running
from openbrain.runtime.container import Container
from openbrain.runtime.leader import LONG_ROUND_S, Leader, PeriodicJob, notifying
from openbrain.streams.monitoring import endpoints
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.publishing.publisher import Publisher
from openbrain.streams.redis.connection import connect, without_login
from openbrain.usecases.tick_schedule import TickSchedule
from openbrain.vault.pipeline import Patience
from openbrain_housekeeper.back_pressure import held_back
from openbrain_housekeeper.handlers.purge import Project
from openbrain_housekeeper.jobs.broadcasts import Broadcasting
from openbrain_housekeeper.jobs.policies import PolicySchedule
from openbrain_housekeeper.jobs.relay import measure, relay_outbox, until_more
from openbrain_housekeeper.jobs.retention import RetentionJob
from openbrain_housekeeper.jobs.row_retention import ROUND, expire, purge_past
from openbrain_housekeeper.jobs.stream_retention import StreamRetention
from openbrain_housekeeper.jobs.vault_checks import VaultCheck
from openbrain_housekeeper.wiring.operations import worker
from openbrain_housekeeper.wiring.reconciliation import reconciliation_jobs, verifier

VAULTS_EVERY_S = 60.0
TICKS_EVERY_S = 5.0
POLICIES_EVERY_S = 20.0
OPERATIONS_POLL_S = 0.25
"""Interval between polls for an operation while there is none."""
OPERATIONS_ROUND_S = 900.0
"""A step may merge an index, which Elasticsearch is given ten minutes for, or rest ten times as long as it worked."""
RELAYED = (
    *(table.STORED, table.EMBEDDED, table.SUPERSEDED, table.REINDEX, table.REINDEX_COMPLETED),
    table.LIFECYCLE_COMPLETED,
    *(table.BROADCAST, table.TICK_REQUESTED, table.TICK_COMPLETED),
)
"""The events that the relay publishes."""


def housekeeper(container: Container, project_text: Project | None = None) -> Leader:
    """Wire the service. `project_text` rewrites memories in a text index that can't remove erased text by itself."""
    client: Redis = connect(container.settings.streams)

    async def close() -> None:
        await client.aclose()
        if not container.shared:
            await container.close()

    async def ask_redis() -> None:
        await client.execute_command("PING")  # type: ignore[no-untyped-call]

    async def measured() -> None:
        await measure(container.store.outbox, container.clock, leading=service.leading)
        await container.pressure.refusal()  # its gauges: a former leader, which asks no more, must show no old value

    service = Leader(
        "housekeeper",
        container.store.leases,
        periodic_jobs(container, client, project_text),
        lease_s=container.settings.housekeeping.tuning.lease_s,
        checks={"redis": ask_redis, "truth": container.store.check},
        close=close,
        measure=measured,
    )
    return service


def periodic_jobs(container: Container, client: Redis, project_text: Project | None) -> Sequence[PeriodicJob]:
    """The jobs, each with its round and the wait before the next one."""
    store, wake, settings = container.store, container.wake, container.settings
    tuning = settings.housekeeping.tuning
    publisher = Publisher(settings.streams, client)
    redelivery = Redelivery(client, settings.streams)
    broadcasting = Broadcasting(store.broadcasts, client, publisher, settings.streams)
    retention = StreamRetention(client, settings.streams)
    compared = verifier(container, client)
    operations = worker(container, client, publisher, redelivery, compared, project_text)
    relay = partial(relay_outbox, store.outbox, publisher, broadcasting, tuning.relay_batch)
    relayed = partial(until_more, wake, tuning.relay_batch, tuning.relay_poll_ms / 1000)
    trim = partial(retention.trim_streams, store, redelivery, broadcasting)
    expiry = held_back(notifying(wake, partial(expire, store, ROUND)), container.pressure)
    purge = partial(purge_past, store, settings)
    operate = notifying(wake, operations.round)
    retaining = held_back(notifying(wake, RetentionJob(store, ROUND).round), container.pressure)
    policies = PolicySchedule(store.policies, store.operations, container.clock)
    tick, folders = settings.tick, tuple(settings.vaults.folders)
    schedule = TickSchedule(store.ticks, container.clock, folders, tick.schedule, tick.tuning.extract_at)
    patience = Patience(
        late=round(tick.tuning.late_s * MICROSECONDS), unheard=round(tick.tuning.unheard_s * MICROSECONDS)
    )
    vaults = VaultCheck(store, container.clock, folders, patience)
    return [
        PeriodicJob("relay", relay, relayed),
        PeriodicJob.every(tuning.mend_every_s, "broadcasts", broadcasting.mend, full=ROUND),
        PeriodicJob.every(tuning.expiry_every_s, "expire", expiry, full=ROUND),
        PeriodicJob.every(tuning.purge_every_s, "purge", purge, full=ROUND),
        PeriodicJob(
            "operations",
            operate,
            lambda worked: asyncio.sleep(0 if worked else OPERATIONS_POLL_S),
            round_s=OPERATIONS_ROUND_S,
        ),
        PeriodicJob.every(tuning.trim_every_s, "trim", trim, full=ROUND, round_s=LONG_ROUND_S),
        *reconciliation_jobs(container, compared),
        PeriodicJob.every(tuning.purge_every_s, "retention", retaining, full=ROUND, round_s=LONG_ROUND_S),
        PeriodicJob.every(POLICIES_EVERY_S, "policies", policies.round),
        PeriodicJob.every(TICKS_EVERY_S, "ticks", notifying(wake, schedule.round)),
        PeriodicJob.every(VAULTS_EVERY_S, "vaults", vaults.round),
    ]


def application(container: Container) -> AsgiFastStream:
    """The application for `faststream run`. Its broker only documents what the relay publishes."""
    service = housekeeper(container)
    broker = RedisBroker(specification_url=without_login(container.settings.streams.url))
    for spec in RELAYED:
        name = container.settings.streams.prefix + spec.address
        broker.publisher(stream=name, schema=CloudEvent[spec.data], description=spec.about)  # type: ignore[name-defined]

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        logs.configure(container.settings.logs)
        await service.start()
        try:
            with long_running():
                yield
        finally:
            await service.stop()

    return AsgiFastStream(
        broker,
        logger=None,
        lifespan=lifespan,
        asgi_routes=endpoints.routes([service]),
        specification=AsyncAPI(title="openbrain housekeeper", version=openbrain.__version__),
        asyncapi_path="/docs",
    )


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    return application(Container(all_settings.load()))
