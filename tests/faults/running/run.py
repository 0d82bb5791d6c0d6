"""One seed from start to verdict, on servers."""

import asyncio
import contextlib
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import httpx
import redis
from redis.asyncio import Redis as AsyncRedis

from tests.faults.planning.operations import Operation, of_producer
from tests.faults.planning.plan import ROOMS, SETTINGS, Fault, Plan
from tests.faults.processes.fleet import Fleet, Process, struck, tail
from tests.faults.producing.producers import Producers
from tests.faults.producing.submissions import Submissions
from tests.faults.running.operator import tried_again
from tests.faults.running.world import WORKSPACE, World
from tests.faults.striking.double import vector
from tests.faults.striking.faults import strike
from tests.faults.striking.network import Network
from tests.faults.verifying import comparing, findings, index_reading, streams_reading, truth_reading
from tests.faults.verifying.findings import Finding
from tests.faults.verifying.index_reading import Entry
from tests.faults.verifying.oracle import Oracle
from tests.faults.verifying.truth_reading import Generation, Truth
from tests.faults.verifying.verdict import Verdict
from tests.servers.processes.process import ServerProcess
from tests.support.waiting import PATIENCE_S

ANSWER_S = PATIENCE_S
"""How long a producer waits for an acknowledgement, faults included."""
CONVERGE_S = PATIENCE_S


class Run:
    """The run of a plan in a world; faults act on it."""

    again_s = 1.0
    """Indexes that are equal must still be equal after this time: a stopped process may just have resumed."""

    def __init__(self, plan: Plan, world: World) -> None:
        self.plan, self.world = plan, world
        self.prefix = f"f{plan.seed}-{random.randrange(1 << 24):x}."
        self.chance = random.Random(plan.seed + 1)
        self.double = world.double
        self.networks: dict[str, Network] = {}
        self.injected: Counter[str] = Counter()
        self.oracle = Oracle()
        self.folder = world.folder / self.prefix
        self.archive: dict[str, dict[bytes, None]] = {}
        self.fleet: Fleet
        self._done = 0

    @property
    def streams(self) -> ServerProcess:
        return self.world.streams[self.plan.streams]

    @property
    def truth(self) -> ServerProcess:
        return self.world.mariadb

    @property
    def indexes(self) -> ServerProcess | None:
        return self.world.elasticsearch

    def _producer(self) -> "AsyncRedis":
        return AsyncRedis.from_url(self.streams_url(), socket_timeout=2, socket_connect_timeout=2)

    def _empty_streams(self) -> None:
        self.world.reset_streams(self.plan.streams).close()

    async def _empty_truth(self) -> str:
        """Empty the database; return the secret of a key of its only workspace."""
        return await self.world.reset_truth()

    def link(self) -> "redis.Redis":
        return redis.Redis.from_url(self.streams_url(), socket_timeout=3, protocol=2)

    def sql(self) -> Any:
        return self.world.sql()

    def streams_url(self) -> str:
        return self.streams.url

    def elasticsearch_url(self) -> str:
        return self.world.elasticsearch_url or (self.indexes.url if self.indexes else "")

    async def verdict(self) -> Verdict:
        """Run the plan and return its verdict."""
        started = time.monotonic()
        self.folder.mkdir(parents=True)
        async with AsyncExitStack() as stack:
            stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
            environment, secret = await self._prepare(stack)
            self.fleet = Fleet(self.world.zygote, environment, self.folder, mutant=self.plan.mutant)
            stack.push_async_callback(self.fleet.stop)
            await self._start_rooms()
            submissions = Submissions(self._producer(), self.prefix, WORKSPACE)
            stack.push_async_callback(submissions.stop)
            self.archive = submissions.archive
            submissions.start()
            statuses = await self._work(submissions, await self._secret(secret))
            calm = time.monotonic()
            found = await self._converged(submissions)
            converged_s = time.monotonic() - calm
            for process in self.fleet.processes:
                self.injected.update(f"at a mark: {each}" for each in struck(process.log))
            tails = {} if not found else {each.name: tail(each.log) for each in self.fleet.processes}
        await self._tidy()
        return Verdict(
            seed=self.plan.seed,
            form=f"{self.plan.form} {self.plan.streams} {self.plan.embedder}",
            findings=found,
            injected=self.injected,
            acknowledged=self.oracle.acknowledged,
            statuses=statuses,
            seconds=time.monotonic() - started,
            converged_s=converged_s,
            submissions=submissions.sent,
            restarts=sum(process.lives - 1 for process in self.fleet.processes),
            log_tails=tails,
        )

    async def _secret(self, given: str) -> str:
        return given

    async def _tidy(self) -> None:
        await asyncio.to_thread(self.world.drop_indexes, self.prefix)

    async def _prepare(self, stack: AsyncExitStack) -> tuple[dict[str, str], str]:
        await asyncio.to_thread(self._empty_streams)
        secret = await self._empty_truth()
        elasticsearch = await asyncio.to_thread(self.world.reset_elasticsearch)
        self.double.reset()
        urls = {
            "streams": self.streams_url(),
            "truth": self.truth.url,
            "indexes": elasticsearch,
            "embedder": f"http://127.0.0.1:{self.double.port}",
        }
        self.injected.update(f"{fault.kind} {fault.target}" for fault in self.plan.faults if fault.kind == "clock skew")
        if self.plan.embedder == "ollama":
            urls["embedder"] = self.world.ollama_url
        for fault in self.plan.faults:
            if fault.kind == "network" and fault.target not in self.networks:
                port = int(urls[fault.target].rpartition(":")[2].partition("/")[0])
                between = await stack.enter_async_context(Network(port).open())
                assert isinstance(between, Network)
                self.networks[fault.target] = between
                urls[fault.target] = urls[fault.target].replace(f":{port}", f":{between.port}")
        return {**SETTINGS, **self._places(urls), **self.plan.settings}, secret

    def _places(self, urls: Mapping[str, str]) -> dict[str, str]:
        return {
            "OPENBRAIN_STREAMS__URL": urls["streams"],
            "OPENBRAIN_STREAMS__PREFIX": self.prefix,
            "OPENBRAIN_TRUTH__URL": urls["truth"],
            "OPENBRAIN_TEXT__URL": urls["indexes"],
            "OPENBRAIN_VECTORS__URL": f"elasticsearch+{urls['indexes']}",
            "OPENBRAIN_EMBEDDING__URL": urls["embedder"],
            "OPENBRAIN_EMBEDDING__MODEL": "all-minilm" if self.plan.embedder == "ollama" else "double",
            "OPENBRAIN_DATA_DIR": str(self.folder),
        }

    async def _start_rooms(self) -> None:
        late = {fault.target for fault in self.plan.faults if fault.kind == "late start"}
        for service in ROOMS:
            if service not in late:
                self.start_room(service)
        for each in (*self.apis(), *self.fleet.of("housekeeper")):
            await self.fleet.ready(each)

    def apis(self) -> Sequence[Process]:
        """Return the processes that serve the API."""
        return self.fleet.of("api")

    def start_room(self, service: str) -> None:
        """Start all replicas of a service; marks and a wrong clock apply to the first one only."""
        for number in range(self.plan.replicas[service]):
            self.fleet.start(service, plan=self._room_plan(service) if number == 0 else None)

    def _room_plan(self, service: str) -> dict[str, Any]:
        marks = [
            fault for fault in self.plan.faults if fault.kind.endswith("at a mark") and fault.more["room"] == service
        ]
        skews = [fault for fault in self.plan.faults if fault.kind == "clock skew" and fault.target == service]
        return {"marks": [dict(fault.more) for fault in marks], "skew_s": skews[0].more["skew_s"] if skews else 0}

    async def _work(self, submissions: Submissions, secret: str) -> Counter[int]:
        """Run operations and, meanwhile, faults; then the faults that come after them. One agent subscribes to all
        stored memories."""
        await self._wait_for_all(secret)
        producers = Producers(
            self.plan.seed,
            [api.url for api in self.apis()],
            secret,
            submissions,
            self.oracle,
            self._before,
            self._one_done,
            ANSWER_S,
        )
        during = [asyncio.create_task(self._when_due(fault)) for fault in self.plan.faults if fault.at <= 1]
        everything = list(self.plan.operations)
        count = self.plan.producers
        await asyncio.gather(
            *(producers.run(list(of_producer(everything, each, count)), self.plan.pause_s) for each in range(count))
        )
        self._done = len(everything)
        await asyncio.gather(*during)
        for fault in self.plan.faults:
            if fault.at > 1:
                await self._quiet()
                await strike(fault, self)
        return producers.statuses

    async def _wait_for_all(self, secret: str) -> None:
        everything = {"filter": {"min_confidence": 0}, "include_own": True, "agent_id": "watcher"}
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(base_url=self.apis()[0].url, headers=headers, timeout=PATIENCE_S) as client:
            answer = await client.post("/v1/brain/subscriptions", json=everything)
            assert answer.status_code == 201, answer.text

    async def _before(self, operation: Operation) -> None:
        number, service = self.plan.held
        if not 0 <= number <= operation.number:
            return
        if not service:
            await self._quiet()
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CONVERGE_S):
                while not any(struck(process.log) for process in self.fleet.of(service)):
                    await asyncio.sleep(0.02)

    def _one_done(self) -> None:
        self._done += 1

    def all_done(self) -> bool:
        """Whether every operation is acknowledged."""
        return self._done >= len(self.plan.operations)

    async def _when_due(self, fault: Fault) -> None:
        while self._done < fault.at * len(self.plan.operations):
            await asyncio.sleep(0.01)
        await strike(fault, self)

    async def _quiet(self) -> None:
        """Wait until no work is pending, at most CONVERGE_S."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CONVERGE_S):
                while [each for each in await self._look() if each.kind == findings.LEFTOVER]:
                    await asyncio.sleep(0.2)

    async def _converged(self, submissions: Submissions) -> list[Finding]:
        """Return the differences that remain at the deadline; return early once two successive checks find none."""
        found: list[Finding] = []
        deadline = time.monotonic() + (self.plan.converge_s * PATIENCE_S / 120 or CONVERGE_S)
        calm = False
        while time.monotonic() < deadline:
            was_calm = calm
            found = await self._look()
            calm = not found
            if calm and (was_calm or not self.again_s):
                break
            with contextlib.suppress(redis.RedisError):  # another fault may still act: the next round retries
                await asyncio.to_thread(tried_again, self)
            await asyncio.sleep(self.again_s if calm else 0.2)
        found += [Finding(findings.LOST, each) for each in self.oracle.problems]
        found += [Finding(findings.DUPLICATE, each) for each in submissions.problems]
        found += [Finding(findings.PROCESS, each) for each in self.fleet.unexpected]
        again = [count for text, count in self.double.served.items() if count > 1 and text != "a"]
        if self.plan.once and again:
            found.append(Finding(findings.DUPLICATE, f"{len(again)} texts were embedded up to {max(again)} times"))
        return found

    async def _look(self) -> list[Finding]:
        try:
            return await asyncio.to_thread(self._compare)
        except Exception as error:  # noqa: BLE001 - a server that is still starting is a reason to look again
            return [Finding(findings.LEFTOVER, f"can't look yet: {type(error).__name__}: {error}")]

    def _compare(self) -> list[Finding]:
        truth = truth_reading.read(self.truth.url)
        found = [*self._leftovers(truth), *comparing.acknowledged(truth, self.oracle), *comparing.delivered(truth)]
        return found + self._indexes(
            truth, lambda generation: index_reading.elasticsearch(self.elasticsearch_url(), generation.name)
        )

    def _leftovers(self, truth: Truth) -> list[Finding]:
        """Return work that is still pending or abandoned."""
        with contextlib.closing(self.link()) as link:
            found = list(streams_reading.leftovers(link, self.prefix))
            found += streams_reading.undeserved(streams_reading.dead_letters(link, self.prefix))
        if truth.outbox:
            found.append(Finding(findings.LEFTOVER, f"{truth.outbox} events in the outbox"))
        if truth.unmatched:
            found.append(Finding(findings.LEFTOVER, f"{truth.unmatched} memories are not matched yet"))
        now = time.time() * 1_000_000
        due = sum(1 for row in truth.rows.values() if row.alive and row.expires_at and row.expires_at <= now)
        if due:
            found.append(Finding(findings.LEFTOVER, f"{due} memories are due and not ended"))
        return found

    def _indexes(self, truth: Truth, entries_of: Callable[[Generation], Mapping[str, Entry]]) -> list[Finding]:
        """Compare every generation that is written to."""
        found: list[Finding] = []
        strict = self.plan.strict_tombstones
        model = {comparing.input_hash(said): (said, vector(said)) for said in list(self.double.served)}
        kinds = set()
        for generation in truth.generations:
            if generation.status not in truth_reading.WRITTEN:
                continue
            kinds.add(generation.kind)
            if generation.kind == "text":
                found += comparing.text(truth, generation, entries_of(generation), tombstones=strict)
            else:
                found += comparing.vectors(truth, generation, entries_of(generation), model, tombstones=strict)
        return found + [Finding(findings.GAP, f"no {kind} index serves") for kind in {"text", "vector"} - kinds]
