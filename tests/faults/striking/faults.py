"""How each fault of a plan is applied to the servers and services of a run."""

import asyncio
import contextlib
import functools
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pymysql
import redis

from tests.faults.planning.plan import Fault
from tests.faults.processes.fleet import struck
from tests.faults.running.scene import Scene
from tests.faults.striking import index_faults
from tests.faults.verifying.streams_reading import GROUPS, SPOILT, leftovers
from tests.servers.processes.process import ServerProcess
from tests.support.waiting import PATIENCE_S

_HALF_MARKED = "SELECT COUNT(*) FROM memories WHERE text_revision <> revision"
_UNPUBLISHED = "SELECT COUNT(*) FROM outbox"


async def strike(fault: Fault, scene: Scene) -> None:
    """Apply the fault and undo it after its time."""
    if not fault.kind.endswith(("at a mark", "skew")):  # a mark may never be reached: the process reports it
        scene.injected[str(fault)] += 1
    await _HOW[fault.kind](fault, scene)


async def _kill(fault: Fault, scene: Scene) -> None:
    for process in scene.fleet.of(fault.target)[:1]:
        scene.fleet.signal(process, signal.SIGKILL)


async def _stop(fault: Fault, scene: Scene) -> None:
    for process in scene.fleet.of(fault.target)[:1]:
        scene.fleet.signal(process, signal.SIGSTOP)
        await _lasts(fault, scene)
        scene.fleet.signal(process, signal.SIGCONT)


async def _server_killed(server: ServerProcess, seconds: float) -> None:
    await asyncio.to_thread(server.kill)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(server.start)


async def _server_stopped(server: ServerProcess, seconds: float) -> None:
    server.pause()
    try:
        await asyncio.sleep(seconds)
    finally:
        server.resume()


async def _streams_kill(fault: Fault, scene: Scene) -> None:
    await _server_killed(scene.streams, fault.seconds)


async def _streams_demoted(fault: Fault, scene: Scene) -> None:
    """Simulate a failover: for a while the server is the replica of an unreachable master, and refuses writes."""
    await _undone(scene, fault, ("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE"))


async def _streams_flushed(fault: Fault, scene: Scene) -> None:
    await _until_published(fault, scene)
    with contextlib.closing(scene.link()) as link:
        await _insist(link.flushall)  # refused during a failover


async def _streams_paused(fault: Fault, scene: Scene) -> None:
    with contextlib.closing(scene.link()) as link:
        await _insist(lambda: _ask(link, "CLIENT", "PAUSE", round(fault.seconds * 1000), "ALL"))
        await asyncio.sleep(fault.seconds)


async def _streams_full_memory(fault: Fault, scene: Scene) -> None:
    await _undone(scene, fault, ("CONFIG", "SET", "maxmemory", "1mb"), ("CONFIG", "SET", "maxmemory", "0"))


async def _streams_full_disk(fault: Fault, scene: Scene) -> None:
    filler = scene.streams.data / "filler"
    try:
        await asyncio.to_thread(_fill, filler)
        await asyncio.sleep(fault.seconds + 1)
    finally:
        filler.unlink(missing_ok=True)


def _fill(filler: Any) -> None:
    with filler.open("wb", buffering=0) as out, contextlib.suppress(OSError):
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    out.write(b"\0" * size)


async def _lasts(fault: Fault, scene: Scene) -> None:
    """Wait for the fault's duration. If the fault asks for it, first wait until every operation is acknowledged and
    published, a text is embedded, or the model has failed a request."""
    while fault.more.get("until done") and not scene.all_done():
        await asyncio.sleep(0.05)
    await _until_published(fault, scene)
    while fault.more.get("until met") and not scene.double.troubled:
        await asyncio.sleep(0.05)
    while fault.more.get("until embedded") and not scene.double.served.keys() - {"a"}:
        await asyncio.sleep(0.05)
    await asyncio.sleep(fault.seconds)


async def _undone(scene: Scene, fault: Fault, do: tuple[str, ...], undo: tuple[str, ...]) -> None:
    with contextlib.closing(scene.link()) as link:
        await _insist(lambda: _ask(link, *do))
        try:
            await _lasts(fault, scene)
        finally:
            await _insist(lambda: _ask(link, *undo))


def _ask(link: "redis.Redis", *command: str | int) -> None:
    link.execute_command(*command)  # type: ignore[no-untyped-call]


async def _insist(call: Callable[[], Any]) -> None:
    """Repeat a call to a server that may be down because of another fault, or still starting."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(redis.RedisError, OSError):
            await asyncio.to_thread(call)
            return
        await asyncio.sleep(0.05)


async def _truth_kill(fault: Fault, scene: Scene) -> None:
    await _server_killed(scene.truth, fault.seconds)


async def _truth_stopped(fault: Fault, scene: Scene) -> None:
    await _server_stopped(scene.truth, fault.seconds)


async def _truth_locks(fault: Fault, scene: Scene) -> None:
    """Lock half of the rows for longer than a write waits."""
    with contextlib.suppress(pymysql.MySQLError), contextlib.closing(await asyncio.to_thread(scene.sql)) as link:
        cursor = link.cursor()
        half = "SELECT id FROM memories WHERE CRC32(id) % 2 = 0 FOR UPDATE"
        await asyncio.to_thread(cursor.execute, "SET SESSION innodb_lock_wait_timeout = 1")
        await asyncio.to_thread(cursor.execute, half)
        await asyncio.sleep(2 + fault.seconds)
        await asyncio.to_thread(link.rollback)


async def _indexes_stopped(fault: Fault, scene: Scene) -> None:
    if scene.indexes is not None:
        await _server_stopped(scene.indexes, 2 + fault.seconds)


async def _indexes_kill(fault: Fault, scene: Scene) -> None:
    if scene.indexes is not None:
        await _server_killed(scene.indexes, fault.seconds)


async def _embedder(fault: Fault, scene: Scene) -> None:
    scene.double.mode = fault.target
    try:
        await _lasts(fault, scene)
    finally:
        scene.double.mode = ""


async def _network(fault: Fault, scene: Scene) -> None:
    between = scene.networks[fault.target]
    between.set(fault.more["mode"])
    try:
        await asyncio.sleep(fault.seconds)
    finally:
        between.set("")


async def _redelivery(_: Fault, scene: Scene) -> None:
    """Append the entries ever seen on the work streams, trimmed ones included, twice more in random order."""
    await _insist(lambda: redeliver(scene))


def redeliver(scene: Scene) -> None:
    with contextlib.closing(scene.link()) as link:
        submitted: Any = link.xrange(f"{scene.prefix}memory.submitted")
        again = {"memory.submitted": [fields.get(b"__data__", b"") for _, fields in submitted]}
        again |= {stream: list(entries) for stream, entries in scene.archive.items()}
        for stream, bodies in again.items():
            entries = [body for body in bodies if SPOILT not in body] * 2
            scene.chance.shuffle(entries)
            for body in entries[:400]:
                link.xadd(scene.prefix + stream, {"__data__": body})


async def _spoilt(_: Fault, scene: Scene) -> None:
    """Append invalid entries, which no service can handle, among the valid ones."""
    with contextlib.closing(scene.link()) as link:
        for stream in GROUPS:
            for body in (b"\xff\xfe " + SPOILT, b'{"specversion": "1.0", "note": "' + SPOILT + b'"}'):
                await _insist(functools.partial(link.xadd, scene.prefix + stream, {"__data__": body}))


async def _late_start(fault: Fault, scene: Scene) -> None:
    await _until_published(fault, scene)
    scene.start_room(fault.target)


async def _another_replica(fault: Fault, scene: Scene) -> None:
    """Start another replica as soon as the first one is stopped at its mark. Once the other has handled everything, the
    first one's pending entries included, resume the first: nothing repeats what it does then. Raise `TimeoutError` if
    it does not come to that."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := scene.fleet.of(fault.target)) or not struck(found[0].log):
            await asyncio.sleep(0.02)
        first = found[0]
        scene.fleet.start(fault.target)
        while not (scene.all_done() and await asyncio.to_thread(_all_text_done, scene)):
            await asyncio.sleep(0.1)
        await index_faults.deletes_forgotten(scene)
        scene.fleet.signal(first, signal.SIGCONT)
        while len(struck(first.log)) < fault.more.get("marks", 1):
            await asyncio.sleep(0.02)
    await asyncio.sleep(1)


def _all_text_done(scene: Scene) -> bool:
    """True if the streams hold no pending entry for the text indexer, so that nothing will read a row again."""
    with contextlib.closing(scene.link()) as link:
        left = [each for each in leftovers(link, scene.prefix) if "for indexer-text:" in each.about]
    return not (left or _count(scene, _UNPUBLISHED) or _count(scene, _HALF_MARKED))


async def _until_published(fault: Fault, scene: Scene) -> None:
    """If the fault asks for it, wait until everything committed so far is published."""
    while fault.more.get("published") and await asyncio.to_thread(_count, scene, _UNPUBLISHED):
        await asyncio.sleep(0.05)


def _count(scene: Scene, statement: str) -> int:
    with contextlib.closing(scene.sql()) as link, link.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.fetchone()[0])


async def _nothing(_: Fault, __: Scene) -> None:
    """Do nothing: the fault was installed in the process when it started."""


_HOW: dict[str, Callable[[Fault, Scene], Awaitable[None]]] = {
    "kill at a mark": _nothing,
    "stop at a mark": _nothing,
    "wait at a mark": _nothing,
    "clock skew": _nothing,
    "late start": _late_start,
    "another replica": _another_replica,
    "entries damaged": index_faults.damaged,
    "entries lost": index_faults.lost,
    "kill": _kill,
    "stop": _stop,
    "streams kill": _streams_kill,
    "streams demoted": _streams_demoted,
    "streams flushed": _streams_flushed,
    "streams paused": _streams_paused,
    "streams full memory": _streams_full_memory,
    "streams full disk": _streams_full_disk,
    "truth kill": _truth_kill,
    "truth stopped": _truth_stopped,
    "truth locks": _truth_locks,
    "indexes stopped": _indexes_stopped,
    "indexes kill": _indexes_kill,
    "embedder": _embedder,
    "network": _network,
    "redelivery": _redelivery,
    "late redelivery": _redelivery,
    "spoilt entries": _spoilt,
}
