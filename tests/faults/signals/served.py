"""The setup of a run of signals in production's form: separate processes, two replicas of each service, real
servers."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.client import OpenBrain
from openbrain.domain.errors import TryLater
from openbrain.settings import Streams
from openbrain.settings.tuning import StreamTuning
from tests.faults.processes.fleet import Fleet, Process, Zygote
from tests.faults.running.world import connection, tenant
from tests.faults.signals.agents import Place
from tests.faults.signals.plan import REPLICAS
from tests.faults.signals.reading import leading, read_served
from tests.faults.signals.scene import OWN, Scene, network
from tests.servers.processes.process import ServerProcess
from tests.support.waiting import until

NOWHERE = "http://127.0.0.1:9"
"""An unused address: signals need neither indexes nor models."""
LEASES = {"amygdala": "amygdala-duties", "housekeeper": "housekeeper"}


@asynccontextmanager
async def served_scene(
    zygote: Zygote,
    streams: ServerProcess,
    database: ServerProcess,
    folder: Path,
    *,
    marks: Sequence[Mapping[str, object]] = (),
) -> AsyncIterator[Scene]:
    """Start the setup and wait until it is ready; end it afterwards. `database`: an empty one, for this run only."""
    prefix = f"f{random.randrange(1 << 24):x}."
    (folder / "cursors").mkdir(parents=True)
    await asyncio.to_thread(upgrade, database.url)
    key = await tenant(database.url, folder)
    environment = {
        **OWN,
        "OPENBRAIN_STREAMS__URL": streams.url,
        "OPENBRAIN_STREAMS__PREFIX": prefix,
        "OPENBRAIN_TRUTH__URL": database.url,
        "OPENBRAIN_TEXT__URL": NOWHERE,
        "OPENBRAIN_VECTORS__URL": f"elasticsearch+{NOWHERE}",
        "OPENBRAIN_EMBEDDING__URL": NOWHERE,
        "OPENBRAIN_EMBEDDING__MODEL": "none",
        "OPENBRAIN_DATA_DIR": str(folder),
    }
    async with AsyncExitStack() as stack:
        fleet = Fleet(zygote, environment, folder)
        stack.push_async_callback(fleet.stop)
        apis = [fleet.start("api") for _ in range(REPLICAS)]
        for service in ("amygdala", "housekeeper"):
            for number in range(REPLICAS):
                fleet.start(service, plan={"marks": list(marks)} if (service, number) == ("amygdala", 0) else None)
        networks = {"redis": await network(stack, streams.port)}
        places = []
        near = Streams(
            url=f"redis://127.0.0.1:{networks['redis'].port}/0", prefix=prefix, tuning=StreamTuning(poll_s=0.5)
        )
        for number, process in enumerate(apis):
            await _answers(process, key)
            between = networks["api" if number == 0 else f"api {number}"] = await network(stack, process.port)
            places.append(Place(f"http://127.0.0.1:{between.port}", key, near, folder / "cursors"))
        for process in (*fleet.of("amygdala"), *fleet.of("housekeeper")):
            await fleet.ready(process)
        brain = OpenBrain(apis[0].url, key, attempts=1, breaker_failures=0, timeout_s=10)
        stack.push_async_callback(brain.close)
        direct = Streams(url=streams.url, prefix=prefix, tuning=StreamTuning(poll_s=5))
        connect = partial(connection, database.url)
        yield Scene(
            fleet,
            streams,
            networks,
            tuple(places),
            brain,
            direct,
            read=partial(read_served, connect),
            leader=lambda service: leading(connect, LEASES[service]),
        )


async def _answers(process: Process, key: str) -> None:
    """Wait until the API answers. /ready never succeeds, because the indexes do not exist."""

    async def answers() -> bool:
        with contextlib.suppress(TryLater):
            async with OpenBrain(process.url, key, attempts=1, breaker_failures=0, timeout_s=5) as brain:
                await brain.amygdala()
                return True
        return False

    await until(answers)
