"""A whole fleet is halted and resumed, while the stream server dies in between and the system restarts."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from redis.asyncio import Redis

from openbrain.client.subscriber.connect import SILENCE_S
from openbrain.domain.errors import Halted, TryLater
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SIGNAL_RAISED
from openbrain.domain.signals.values import Severity
from tests.faults.processes.fleet import Zygote
from tests.faults.signals.agents import WORKSPACE, Agent, all_of, fleet
from tests.faults.signals.scene import Scene, scene
from tests.faults.verifying.findings import LOST, STALE, Finding
from tests.servers.processes.process import ServerProcess
from tests.support.waiting import PATIENCE_S

T = TypeVar("T")
SHARE = 0.1
"""Share of the fleet that has stopped when the stream server dies."""


@dataclass
class Halting:
    """Measurements of one run, in seconds."""

    agents: int
    findings: list[Finding] = field(default_factory=list)
    started_s: float = 0.0
    halted_s: float = 0.0
    """From the XADD until every agent has stopped."""
    halting_cpu_s: float = 0.0
    """CPU time of this process, which runs all agents, in that interval."""
    acknowledged_s: float = 0.0
    resumed_s: float = 0.0

    def line(self) -> str:
        """Format the result for people."""
        said = f"{self.agents} subscribers: all halted after {self.halted_s:.2f} s "
        said += f"({self.halting_cpu_s:.2f} s of their one process's CPU), acknowledged after "
        said += f"{self.acknowledged_s:.2f} s, resumed after {self.resumed_s:.2f} s (began in {self.started_s:.1f} s)"
        return f"FAIL {said}: {'; '.join(map(str, self.findings))}" if self.findings else f"ok   {said}"


async def halting(zygote: Zygote, streams: ServerProcess, folder: Path, *, agents: int) -> Halting:
    """Halt and resume a fleet: half of it by Redis, half by server-sent events."""
    result = Halting(agents)
    listeners, heartbeat_s = str(agents * 2), str(max(1, agents // 60))
    places = {"OPENBRAIN_SERVER__LISTENERS": listeners, "OPENBRAIN_SERVER__TUNING__HEARTBEAT_S": heartbeat_s}
    async with scene(zygote, streams, folder, settings=places) as made:
        # A thousand connections through this process's proxies would measure the proxies.
        near = replace(made.places[0], url=made.process.url, redis=made.redis)
        everyone = fleet([near], agents, beat_s=max(5.0, agents / 20), answer_s=SILENCE_S)
        late = Agent("late", near, by_redis=True)
        try:
            result.started_s = await _timed(all_of(everyone, Agent.begin))
            await _halt(made, everyone, late, result)
            await _restart(made, everyone, result)
            await _resume(made, [*everyone, late], result)
        except TimeoutError as error:
            standing = sum(agent.halted for agent in everyone)
            result.findings.append(Finding(LOST, f"patience is over; {standing} of {agents} are halted; {error}"))
        finally:
            await all_of([*everyone, late], Agent.end)
    return result


async def _halt(made: Scene, everyone: Sequence[Agent], late: Agent, result: Halting) -> None:
    started, cpu = time.monotonic(), time.process_time()
    await _raise_nuclear(made)
    await _until(lambda: sum(agent.halted for agent in everyone) >= SHARE * len(everyone))
    await asyncio.to_thread(made.streams.kill)
    await _until(lambda: all(agent.halted for agent in everyone))
    result.halted_s, result.halting_cpu_s = time.monotonic() - started, time.process_time() - cpu
    (halt,) = (await _answered(lambda: made.brain.halts(state=["open"]))).halts
    missing: tuple[str, ...] = ("unknown",)
    deadline = time.monotonic() + PATIENCE_S
    while missing and time.monotonic() < deadline:
        status = await _answered(lambda: made.brain.halt(halt.id))
        missing = status.missing or tuple({agent.name for agent in everyone} - {ack.agent_id for ack in status.acks})
        await asyncio.sleep(0.1)
    result.acknowledged_s = time.monotonic() - started
    if missing:
        result.findings.append(Finding(LOST, f"{len(missing)} have not acknowledged, as {missing[0]}"))
    await late.begin()
    if not _stands_still(late):
        result.findings.append(Finding(STALE, "who joined late was not halted at once"))


def _stands_still(agent: Agent) -> bool:
    assert agent.ear is not None
    try:
        agent.ear.check()
    except Halted:
        return True
    return False


async def _restart(made: Scene, everyone: Sequence[Agent], result: Halting) -> None:
    lives = made.process.lives
    made.fleet.signal(made.process, signal.SIGKILL)
    await asyncio.to_thread(made.streams.start)
    await _until(lambda: made.process.lives > lives)
    await made.fleet.ready(made.process)
    state = await _answered(made.brain.amygdala)
    if not state.halted or not all(agent.halted for agent in everyone):
        result.findings.append(Finding(LOST, "the halt did not survive a restart of everything"))


async def _resume(made: Scene, everyone: Sequence[Agent], result: Halting) -> None:
    (halt,) = (await _answered(lambda: made.brain.halts(state=["open"]))).halts
    waiting = [asyncio.create_task(agent.ear.guard()) for agent in everyone if agent.ear is not None]
    if any(task.done() for task in waiting):
        result.findings.append(Finding(STALE, "somebody went on before it was resumed"))

    async def all_go_on() -> None:
        await _answered(lambda: made.brain.resume_halt(halt.id, note="it is over"))
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*waiting)

    result.resumed_s = await _timed(all_go_on())


async def _raise_nuclear(made: Scene) -> None:
    data = SignalRaised(workspace_id=WORKSPACE, source="probe", severity=Severity.NUCLEAR, title="everything burns")
    body = encode(SIGNAL_RAISED.name, data, event_id="n-1", at=0, source="/faults")
    async with Redis.from_url(made.redis.url, socket_connect_timeout=PATIENCE_S) as link:
        await link.xadd(made.redis.prefix + SIGNAL_RAISED.name, {FIELD: body})


async def _timed(work: Awaitable[None]) -> float:
    started = time.monotonic()
    await work
    return time.monotonic() - started


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


async def _answered(ask: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call to a system that may still be starting."""
    said = "nothing"
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    return await ask()
                except TryLater as error:
                    said = str(error)
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise TimeoutError(f"the API said at last: {said}") from None
