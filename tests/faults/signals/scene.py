"""The setup of a run of signals: one process with the whole product, one stream server, two failing networks."""

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from openbrain.client import OpenBrain
from openbrain.settings import Streams
from openbrain.settings.tuning import StreamTuning
from tests.faults.planning.plan import SETTINGS
from tests.faults.processes.fleet import Fleet, Process, Zygote
from tests.faults.signals.agents import Place
from tests.faults.signals.reading import Truth, read
from tests.faults.striking.network import Network
from tests.servers.processes.process import ServerProcess

OWN = {
    **SETTINGS,
    # Signals of one source are grouped in a storm; here each signal must be broadcast by itself.
    "OPENBRAIN_SIGNALS__TUNING__SOURCE_SIGNALS": "1000000",
    "OPENBRAIN_SERVER__TUNING__HEARTBEAT_S": "1",
}


@dataclass
class Scene:
    """`places`: addresses that agents use, one for each API replica; `brain` and `redis` bypass the networks."""

    fleet: Fleet
    streams: ServerProcess
    networks: dict[str, Network]
    places: tuple[Place, ...]
    brain: OpenBrain
    redis: Streams
    read: Callable[[], Truth]
    leader: Callable[[str], int] = lambda _: 0
    """Service -> pid of its leading replica; 0 if none leads or there is only one process."""

    @property
    def process(self) -> Process:
        """The first process, or the only one."""
        return self.fleet.processes[0]

    def process_of(self, service: str, which: str) -> Process:
        """`which`: the number of a replica, or `leader`."""
        replicas = self.fleet.of(service)
        if which != "leader":
            return replicas[int(which)]
        pid = self.leader(service)
        return next((each for each in replicas if each.pid == pid), replicas[0])


@asynccontextmanager
async def scene(
    zygote: Zygote,
    streams: ServerProcess,
    folder: Path,
    *,
    marks: Sequence[Mapping[str, object]] = (),
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Scene]:
    """Start the setup and wait until it is ready; end it afterwards."""
    prefix = f"f{random.randrange(1 << 24):x}."
    data = folder / "data"
    data.mkdir(parents=True)
    environment = {
        **OWN,
        "OPENBRAIN_STREAMS__URL": streams.url,
        "OPENBRAIN_STREAMS__PREFIX": prefix,
        **(settings or {}),
    }
    async with AsyncExitStack() as stack:
        fleet = Fleet(zygote, environment, folder)
        stack.push_async_callback(fleet.stop)
        process = fleet.start("up", plan={"marks": list(marks)}, data=data)
        await fleet.ready(process)
        networks = {name: await network(stack, port) for name, port in (("redis", streams.port), ("api", process.port))}
        key = (data / "key").read_text(encoding="utf-8").split()[0]
        url = f"http://127.0.0.1:{networks['api'].port}"
        (folder / "cursors").mkdir()
        brain = OpenBrain(process.url, key, attempts=1, breaker_failures=0, timeout_s=10)
        stack.push_async_callback(brain.close)
        near = Streams(
            url=f"redis://127.0.0.1:{networks['redis'].port}/0", prefix=prefix, tuning=StreamTuning(poll_s=0.5)
        )
        place = Place(url, key, near, folder / "cursors")
        direct = Streams(url=streams.url, prefix=prefix, tuning=StreamTuning(poll_s=5))
        yield Scene(fleet, streams, networks, (place,), brain, direct, partial(read, data / "truth.sqlite3"))


async def network(stack: AsyncExitStack, port: int) -> Network:
    made = await stack.enter_async_context(Network(port).open())
    assert isinstance(made, Network)
    return made
