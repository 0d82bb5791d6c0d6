"""housekeeper as a process: `faststream run openbrain_housekeeper.app:app`, or a service of `openbrain up`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from faststream.asgi import AsgiFastStream
from faststream.redis import RedisBroker
from faststream.specification import AsyncAPI
from redis.asyncio import Redis

import openbrain
from openbrain import settings as all_settings
from openbrain.domain import streams as table
from openbrain.domain.events import CloudEvent
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.observability import logs
from openbrain.observability.gc_tuning import long_running
from openbrain.ports.generations import MODEL_CHANGE, IndexKind
from openbrain.ports.index_entries import REINDEX, VERIFY
from openbrain.ports.tenants import CLOSE
from openbrain.ports.writes import FORGET, PURGE
from openbrain.runtime.container import Container
from openbrain.runtime.leader import Leader, PeriodicJob
from openbrain.streams.handling.runtime import consumer_name
from openbrain.streams.monitoring import endpoints
from openbrain.streams.operating.erasure import StreamEraser
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.operating.trim import remake
from openbrain.streams.publishing.publisher import Publisher
from openbrain.streams.redis.connection import connect, without_login
from openbrain.vault.pipeline import Patience
from openbrain_housekeeper.broadcasting import Broadcasting
from openbrain_housekeeper.handlers.close_workspace import Closing
from openbrain_housekeeper.handlers.forget import Forgetting
from openbrain_housekeeper.handlers.purge import Indexes, Project, Purging
from openbrain_housekeeper.handlers.redelivery import steps
from openbrain_housekeeper.jobs.outbox_and_expiry import expire, purge, relay
from openbrain_housekeeper.operating import Step, Worker
from openbrain_housekeeper.scheduling import TickSchedule
from openbrain_housekeeper.stream_keeping import StreamKeeping, held_back, when_room
from openbrain_housekeeper.targets import reindexing
from openbrain_housekeeper.vault_checking import VaultCheck
from openbrain_housekeeper.verifying import Verifying
from openbrain_housekeeper.watching import duties, verifier

ROUND = 500
"""Rows that one round of expiry or purging takes."""
VAULTS_EVERY_S = 60.0
TICKS_EVERY_S = 5.0
OPERATIONS_POLL_S = 0.25
"""Between two looks for an operation to work on."""
RELAYED = (
    *(table.STORED, table.EMBEDDED, table.SUPERSEDED, table.REINDEX, table.REINDEX_COMPLETED),
    *(table.BROADCAST, table.TICK_REQUESTED, table.TICK_COMPLETED),
)
"""What stands in the outbox."""


def housekeeper(container: Container, project_text: Project | None = None) -> Leader:
    """The service, wired. `project_text` writes memories into a text index that needs it to be clean of erased ones."""
    settings = container.settings.housekeeping
    streams = container.settings.streams
    client: Redis = connect(streams)
    publisher = Publisher(streams, client)
    redelivery = Redelivery(client, streams)
    keeping = StreamKeeping(client, streams)
    broadcasting = Broadcasting(container.store.broadcasts, client, publisher, streams)

    async def relay_next() -> int:
        async with broadcasting.lock:
            done = await relay(container.store.outbox, publisher, settings.tuning.relay_batch, broadcasting.settle)
            if done >= settings.tuning.relay_batch:
                await broadcasting.ahead()
        return done

    async def relay_more(done: int) -> None:
        # A full batch says that there is more.
        if done < settings.tuning.relay_batch:
            await container.wake.wait(settings.tuning.relay_poll_ms / 1000)

    async def trim_streams() -> int:
        outside = await container.store.groups.outside_groups()
        await remake(client, streams, outside)
        await redelivery.tidy()
        return await keeping.round(outside) + await broadcasting.trim(await container.store.time())

    async def expire_due() -> int:
        ended = await expire(container.store, ROUND)
        if ended:
            await container.wake.notify()
        return ended

    async def close() -> None:
        await client.aclose()
        if not container.shared:
            await container.close()

    async def ask_redis() -> None:
        await client.execute_command("PING")  # type: ignore[no-untyped-call]

    rebuild = reindexing(container, client, publisher)
    compared = verifier(container, client)
    verifying = Verifying(compared)
    worker = Worker(
        container.store.operations,
        {
            **kinds(container, StreamEraser(client, streams, container.clock), project_text),
            **steps(redelivery, container.store),
            REINDEX: rebuild,
            MODEL_CHANGE: rebuild,
            VERIFY: verifying,
        },
        consumer_name(),
        lasting={PURGE},
        undo={REINDEX: rebuild.undo, MODEL_CHANGE: rebuild.undo, VERIFY: verifying.undo},
    )

    async def purge_past() -> int:
        now = await container.store.time()  # a clock of ours that is ahead must give up nobody's import
        kept = container.settings.recall.tuning.kept_days
        ended = now - settings.operation_days * DAY
        silent = now - round(settings.tuning.import_silence_s * MICROSECONDS)
        ticks = await container.store.ticks.purge_ticks(ended, ROUND) + await container.store.transfer.give_up_imports(
            silent, ROUND
        )
        return max(ticks, await purge(container.store, ROUND, ended, now - kept * DAY))

    vaults = VaultCheck(
        container.store,
        container.clock,
        tuple(container.settings.vaults.folders),
        Patience(
            late=round(container.settings.tick.late_s * MICROSECONDS),
            unheard=round(container.settings.tick.unheard_s * MICROSECONDS),
        ),
    )

    schedule = TickSchedule(
        container.store.ticks,
        container.clock,
        tuple(container.settings.vaults.folders),
        container.settings.tick.schedule,
        container.settings.tick.extract_at,
    )

    async def ask_for_ticks() -> int:
        asked = await schedule.round()
        if asked:
            await container.wake.notify()
        return asked

    async def operate() -> int:
        worked = await worker.round()
        if worked:
            await container.wake.notify()
        return worked

    return Leader(
        "housekeeper",
        container.store.leases,
        [
            PeriodicJob("relay", relay_next, relay_more),
            PeriodicJob(
                "broadcasts", broadcasting.mend, _every(settings.tuning.mend_every_s), settings.tuning.mend_every_s
            ),
            PeriodicJob(
                "expire",
                when_room(expire_due, container.pressure),
                _every(settings.tuning.expiry_every_s),
                settings.tuning.expiry_every_s,
            ),
            PeriodicJob("purge", purge_past, _every(settings.tuning.purge_every_s), settings.tuning.purge_every_s),
            PeriodicJob("operations", operate, lambda worked: asyncio.sleep(0 if worked else OPERATIONS_POLL_S)),
            PeriodicJob("trim", trim_streams, _every(settings.tuning.trim_every_s), settings.tuning.trim_every_s),
            *duties(container, compared),
            PeriodicJob("ticks", ask_for_ticks, lambda _: asyncio.sleep(TICKS_EVERY_S), TICKS_EVERY_S),
            PeriodicJob("vaults", vaults.round, lambda _: asyncio.sleep(VAULTS_EVERY_S), VAULTS_EVERY_S),
        ],
        lease_s=settings.tuning.lease_s,
        checks={"redis": ask_redis, "truth": container.store.check},
        close=close,
    )


def kinds(container: Container, streams: StreamEraser, project_text: Project | None) -> dict[str, Step]:
    """What the operations of each kind do."""
    store, clock = container.store, container.clock
    indexes: Indexes = {
        "text": (lambda: container.text, lambda: store.generations.written(IndexKind.TEXT)),
        "vectors": (lambda: container.vectors, lambda: store.generations.written(IndexKind.VECTOR)),
    }
    return {
        FORGET: held_back(Forgetting(store, clock), container.pressure),
        PURGE: Purging(store, streams, indexes, clock, project_text),
        CLOSE: held_back(Closing(store, streams, clock), container.pressure),
    }


def _every(seconds: float) -> Callable[[int], Awaitable[object]]:
    """At once after a full round, else after the pause."""
    return lambda done: asyncio.sleep(0 if done >= ROUND else seconds)


def application(container: Container) -> AsgiFastStream:
    """The application for `faststream run`; its broker only declares what the relay publishes."""
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
