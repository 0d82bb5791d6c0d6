"""One seed: signals are raised under faults; at the end every subscriber must have the same state."""

import asyncio
import contextlib
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from openbrain.domain.events.streams import BROADCAST
from tests.faults.processes.fleet import Zygote, struck
from tests.faults.signals.agents import WORKSPACE, Agent, all_of, fleet, lacking
from tests.faults.signals.judging import judge
from tests.faults.signals.plan import REPLICAS, RESTARTS, Fault, Plan
from tests.faults.signals.raising import Raising
from tests.faults.signals.reading import Truth
from tests.faults.signals.scene import Scene, scene
from tests.faults.signals.served import served_scene
from tests.faults.verifying.findings import LEFTOVER, LOST, PROCESS, Finding, told
from tests.servers.processes.process import ServerProcess
from tests.support.waiting import PATIENCE_S

KEPT = 5
"""Entries left in the stream when the disconnected subscriber comes back."""


@dataclass
class Verdict:
    """The result of a seed."""

    seed: int
    findings: list[Finding] = field(default_factory=list)
    injected: Counter[str] = field(default_factory=Counter)
    broadcasts: int = 0
    agents: int = 0
    deliveries: int = 0
    seconds: float = 0.0
    restarts: int = 0

    def line(self) -> str:
        """Format the result for people."""
        said = f"seed {self.seed}: {self.agents} agents, {self.broadcasts} broadcasts, {self.deliveries} deliveries, "
        said += f"{self.seconds:.1f} s, {', '.join(f'{count} {what}' for what, count in self.injected.items())}"
        return f"FAIL {said}: {told(self.findings)}" if self.findings else f"ok   {said}"


async def run(
    plan: Plan,
    zygote: Zygote,
    streams: ServerProcess,
    folder: Path,
    *,
    agents: int,
    database: ServerProcess | None = None,
) -> Verdict:
    """Run the plan on a stream server that may be killed. With a `database`, every service runs as separate processes,
    two of each; without one, all run in one process."""
    started, verdict = time.monotonic(), Verdict(plan.seed, agents=agents)
    if database is None:
        on = scene(zygote, streams, folder, marks=_marks(plan))
    else:
        on = served_scene(zygote, streams, database, folder, marks=_marks(plan))
    async with on as made:
        listening = fleet(made.places, agents)
        try:
            await all_of(listening, Agent.begin)
            await _work(plan, made, listening, verdict)
            await _converge(plan, made, listening, verdict)
        finally:
            await all_of(listening, Agent.end)
        for process in made.fleet.processes:
            verdict.injected.update(f"at a mark: {each}" for each in struck(process.log))
        verdict.findings += [Finding(PROCESS, each) for each in made.fleet.unexpected]
    verdict.deliveries = sum(len(agent.record.said) for agent in listening)
    verdict.seconds = time.monotonic() - started
    return verdict


def _marks(plan: Plan) -> tuple[dict[str, object], ...]:
    killed = any(fault.kind == "kill in a raise" for fault in plan.faults)
    mark = {"room": "signals", "point": "after the raise", "nth": plan.nth, "action": "kill", "seconds": 0}
    return (mark,) if killed else ()


async def _work(plan: Plan, made: Scene, listening: Sequence[Agent], verdict: Verdict) -> None:
    redis: Redis = Redis.from_url(made.redis.url, socket_timeout=2, socket_connect_timeout=2)
    raising = Raising(made.brain, redis, made.redis.prefix, random.Random(plan.seed))
    total = len(plan.raises)

    async def at(share: float) -> None:
        while raising.sent < share * total:
            await asyncio.sleep(0.01)

    async def away(agent: Agent) -> None:
        """Disconnect as if for an hour: the stream keeps none of the broadcasts that were missed."""
        begins, ends = plan.offline
        await at(begins)
        await agent.end()
        await at(ends)
        await _trim(made)
        await agent.begin()
        verdict.injected["offline"] += 1

    async def struck_by(fault: Fault) -> None:
        if fault.kind == RESTARTS:
            await _restart_in_turn(plan, made, verdict)
            return
        await at(fault.at)
        verdict.injected[str(fault)] += 1
        await _strike(fault, made)

    async def pause() -> None:
        """Spread raises over the restarts."""
        await asyncio.sleep(0.02)
        while verdict.restarts * total < raising.sent * plan.rounds * REPLICAS:
            await asyncio.sleep(0.02)

    try:
        await asyncio.gather(raising.all_of(plan.raises, pause), away(listening[0]), *map(struck_by, plan.faults))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await raising.insist(plan.raises, lambda: _uncounted(made, plan))
    finally:
        await redis.aclose()


def _uncounted(made: Scene, plan: Plan) -> set[str]:
    counted: Counter[str] = Counter()
    for row in made.read().signals:
        counted[row.key] += row.count
    return {key for key, times in plan.wanted.items() if counted[key] < times}


async def _restart_in_turn(plan: Plan, made: Scene, verdict: Verdict) -> None:
    for _ in range(plan.rounds):
        for process in made.fleet.of("amygdala"):
            await made.fleet.restart(process)
            verdict.restarts += 1


async def _strike(fault: Fault, made: Scene) -> None:
    match fault.kind:
        case "kill":
            made.fleet.signal(made.process, signal.SIGKILL)
        case "stop":
            made.fleet.signal(made.process, signal.SIGSTOP)
            await asyncio.sleep(fault.seconds)
            made.fleet.signal(made.process, signal.SIGCONT)
        case "trimmed":
            await _trim(made)
        case "flushed":
            async with Redis.from_url(made.redis.url) as link:
                with contextlib.suppress(RedisError):
                    await link.flushall()
        case "streams killed":
            await asyncio.to_thread(made.streams.kill)
            await asyncio.sleep(fault.seconds)
            await asyncio.to_thread(made.streams.start)
        case "network redis" | "network api":
            network = made.networks[fault.kind.split()[1]]
            network.set(fault.mode)
            await asyncio.sleep(fault.seconds)
            network.set("")
        case "kill in a raise":
            """The process does it by itself."""
        case _:
            what, service, which = fault.kind.split()
            process = made.process_of(service, which)
            made.fleet.signal(process, signal.SIGKILL if what == "kill" else signal.SIGSTOP)
            if what == "stop":
                await asyncio.sleep(fault.seconds)
                made.fleet.signal(process, signal.SIGCONT)


async def _trim(made: Scene) -> None:
    async with Redis.from_url(made.redis.url, socket_timeout=2) as link:
        with contextlib.suppress(RedisError):
            await link.xtrim(f"{made.redis.prefix}{BROADCAST.name}.{WORKSPACE}", maxlen=KEPT, approximate=False)


async def _converge(plan: Plan, made: Scene, listening: Sequence[Agent], verdict: Verdict) -> None:
    """Wait until every subscriber has the newest number of the database or time runs out; then judge."""
    truth: Truth | None = None
    late: list[str] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while truth is None or truth.waiting or late:
                await asyncio.sleep(0.1)
                truth = await asyncio.to_thread(made.read)
                late = lacking(listening, truth.top)
    if truth is None:
        verdict.findings.append(Finding(LOST, "the truth can't be read"))
        return
    verdict.broadcasts = truth.top
    if truth.waiting:
        verdict.findings.append(Finding(LEFTOVER, f"{truth.waiting} events wait in the outbox"))
    await _handled(listening, truth.top)
    verdict.findings += judge(truth, plan.wanted, [agent.record for agent in listening])


async def _handled(listening: Sequence[Agent], top: int) -> None:
    """Wait until handlers have processed the newest number: received broadcasts pass through a queue first."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while any(top not in {each.seq for each in agent.record.said[-500:]} for agent in listening):
                await asyncio.sleep(0.05)
