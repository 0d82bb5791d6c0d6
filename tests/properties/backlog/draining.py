"""Property 10, the backlog: many submissions wait, then two consumers drain them while every process's memory stays
flat.

The long form is `make backlog` with a million entries; the test runs a short one.
"""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
from redis.asyncio import Redis

from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import STORED, SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import MemoryType
from tests.integration.conftest import Servers, environment, prepared
from tests.properties.backlog.samples import Backlog, Sample
from tests.servers.catalogue import server
from tests.support.cli.services import Process
from tests.support.cli.services import services as running_rooms
from tests.support.store.fixtures import rows

ROOMS = ("housekeeper", "ingest", "ingest", "embedder", "indexer-text", "indexer-text")
BATCH = 256
RETENTION_S = 5
_AT_ONCE = 500
Tell = Callable[[Sample], object]


def settings_of(values: Mapping[str, str]) -> dict[str, str]:
    """The settings that this run changes: streams are trimmed while it runs, and the indexes are compared with the
    database again and again, so that the memory for that is used in both halves. The embedded model is in place and
    not asked."""
    return {
        **values,
        "OPENBRAIN_STREAMS__BATCH": str(BATCH),
        "OPENBRAIN_STREAMS__LEASE_S": "60",
        "OPENBRAIN_STREAMS__RETENTION_S": str(RETENTION_S),
        "OPENBRAIN_HOUSEKEEPING__TUNING__TRIM_EVERY_S": "1",
        "OPENBRAIN_HOUSEKEEPING__VERIFY_EVERY_S": "20",
        "OPENBRAIN_EMBEDDING__URL": "embedded",
        "OPENBRAIN_EMBEDDING__MODEL": "",
        "OPENBRAIN_LOGS__LEVEL": "WARNING",
    }


async def drained(
    servers: Servers, folder: Path, entries: int, name: str, every_s: float = 0.5, tell: Tell = repr
) -> Backlog:
    """Publish the backlog, start the services, and watch until all of it is remembered, announced and read."""
    stream = servers.prefix + SUBMITTED.name
    found = Backlog(entries, name)
    with running_rooms(servers.environment, folder, installed=True) as started:
        for service in ROOMS:
            started.start(service)
        processes = {f"{each.service}-{number}": each for number, each in enumerate(started.started)}
        await started.all_ready()
        readers = [each for each in started.started if each.service == "ingest"]
        # The readers are suspended while the backlog grows, so that both begin with all of it.
        _signal(readers, signal.SIGSTOP)
        moment = await _produce(servers.redis, stream, entries)
        began = time.monotonic()
        # Sampled before anybody reads, because what is read is trimmed soon.
        found.samples.append(await _sample(servers, stream, moment, entries, processes, began))
        _signal(readers, signal.SIGCONT)
        quiet = 0
        while quiet < 2:
            sample = await _sample(servers, stream, moment, entries, processes, began)
            found.samples.append(sample)
            tell(sample)
            done = not (sample.lag or sample.pending or sample.stored_lag) and await _written(servers)
            quiet = quiet + 1 if done else 0
            _still_run(processes)
            await asyncio.sleep(every_s)
        await _until_trimmed(servers.redis, stream)
        for label, process in processes.items():
            found.handled[label] = await _handled(process)
    found.stored = await _remembered(servers)
    found.left = await servers.redis.xlen(stream)
    found.dead = await servers.redis.xlen(f"{stream}.ingest.dead")
    return found


async def _produce(redis: Redis, stream: str, entries: int) -> int:
    """Entry n has the id `<moment>-<n>`, so the number delivered is known without the server's counters."""
    # Dated in the past, so that what everybody has read is old enough to be trimmed.
    moment = int(time.time() * 1000) - (RETENTION_S + 1) * 1000
    for start in range(0, entries, _AT_ONCE):
        async with redis.pipeline(transaction=False) as pipeline:
            for number in range(start + 1, min(entries, start + _AT_ONCE) + 1):
                pipeline.xadd(stream, {FIELD: _submission(number)}, id=f"{moment}-{number}")
            await pipeline.execute()
    return moment


def _submission(number: int) -> bytes:
    offered = MemorySubmitted(
        type=MemoryType.FACT,
        workspace_id="default",
        agent_id="producer",
        content=f"Crate {number} holds {number % 97} lamps for the house in row {number // 97}.",
        embed=False,
    )
    return encode(SUBMITTED.name, offered, event_id=f"b-{number}", at=0)


async def _sample(
    servers: Servers, stream: str, moment: int, entries: int, processes: Mapping[str, Process], began: float
) -> Sample:
    redis: Any = servers.redis
    (group,) = await redis.xinfo_groups(stream) or [{"lag": entries, "last-delivered-id": b"0-0", "pending": 0}]
    at, _, number = group["last-delivered-id"].decode().partition("-")
    stored = servers.prefix + STORED.name
    behind = [each["lag"] for each in await redis.xinfo_groups(stored)] if await redis.exists(stored) else []
    return Sample(
        seconds=round(time.monotonic() - began, 2),
        lag=group["lag"],
        exact=entries - (int(number) if int(at) == moment else 0),
        pending=group["pending"],
        length=await redis.xlen(stream),
        stored_lag=max(behind, default=0),
        redis_bytes=(await redis.info("memory"))["used_memory"],
        resident_kb={label: _resident_kb(each.popen.pid) for label, each in processes.items()},
    )


def _resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


def _signal(processes: Sequence[Process], number: signal.Signals) -> None:
    for each in processes:
        each.popen.send_signal(number)


def _still_run(processes: Mapping[str, Process]) -> None:
    for label, process in processes.items():
        assert process.popen.poll() is None, f"{label} ended: {process.log.read_text(encoding='utf-8')[-3000:]}"


async def _written(servers: Servers) -> bool:
    """True if the outbox is empty and every service of memory.stored has acknowledged everything."""
    if await servers.store.outbox.take(1):
        return False
    groups: Any = await servers.redis.xinfo_groups(servers.prefix + STORED.name)
    return all(not group["lag"] and not group["pending"] for group in groups)


async def _until_trimmed(redis: Redis, stream: str) -> None:
    """Wait until only the last node of the stream remains, which is trimmed as a whole."""
    async with asyncio.timeout(120):
        while await redis.xlen(stream) > 100:
            await asyncio.sleep(0.1)


async def _handled(process: Process) -> float:
    async with httpx.AsyncClient() as http:
        text = (await http.get(f"{process.url}/metrics")).text
    lines = (line for line in text.splitlines() if line.startswith("openbrain_stream_entries_total"))
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'outcome="handled"' in line)


async def _remembered(servers: Servers) -> int:
    """The number of memories whose current revision is in the text index; each must have a different content."""
    query = (
        "SELECT COUNT(*) AS found, COUNT(DISTINCT content_hash) AS different FROM memories "
        "WHERE text_revision = revision AND indexed_at IS NOT NULL"
    )
    (row,) = await rows(servers.store._database, query)
    assert row["found"] == row["different"], row
    return int(row["found"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Return exit code 0 if all of it was remembered once, shared, with flat memory and an exact lag."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--server", choices=("valkey", "redis"), default="valkey")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between samples")
    parser.add_argument("--samples", type=Path, help="write every sample there as it is made, one JSON object a line")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        run = {each: stack.enter_context(server(each)) for each in (options.server, "mariadb", "elasticsearch")}
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = asyncio.run(_main(run, options, folder))
    report = found.report()
    print(json.dumps(report, indent=2))  # noqa: T201 - a command
    growth = report["growth_in_the_second_half"]
    good = (
        found.stored == options.entries and not report["wrong_lags"] and not found.dead and max(growth.values()) < 1.1
    )
    return 0 if good else 1


async def _main(run: Mapping[str, Any], options: argparse.Namespace, folder: Path) -> Backlog:
    values = settings_of(
        environment(
            "backlog",
            redis=run[options.server].server,
            mariadb_url=run["mariadb"].url,
            elasticsearch=run["elasticsearch"].server,
            ollama=run["elasticsearch"].server,  # never called
        )
    )
    servers = await prepared(values, "backlog", folder)
    # The observing client must survive stalls of a machine that is busy with something else.
    patient = replace(servers, redis=Redis.from_url(run[options.server].url, socket_timeout=300))
    try:
        return await drained(patient, folder, options.entries, options.server, options.every, _teller(options.samples))
    finally:
        await patient.redis.aclose()
        await servers.store.close()
        await servers.redis.aclose()


def _teller(file: Path | None) -> Tell:
    if file is None:
        return repr
    out = file.open("w", encoding="utf-8", buffering=1)
    return lambda sample: out.write(json.dumps(asdict(sample)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
