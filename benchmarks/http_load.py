"""A load generator in a process of its own: keep-alive connections that post bodies as fast as they are answered.

python -m benchmarks.http_load URL KEY CLIENTS REQUESTS < bodies (JSON lines), prints one JSON object.
"""

import asyncio
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Load:
    """What came of it: requests a second, and latencies in milliseconds."""

    rate: float
    p50: float
    p99: float
    failed: int


def measure(url: str, key: str, clients: int, requests: int, bodies: Sequence[str], cpus: str = "") -> Load:
    """Run the generator as a process (on `cpus`, as taskset takes them) and wait for its figures."""
    pinned = ["taskset", "-c", cpus] if cpus else []
    command = [*pinned, sys.executable, "-m", "benchmarks.http_load", url, key, str(clients), str(requests)]
    done = subprocess.run(command, input="\n".join(bodies), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the load generator failed:\n{done.stderr}")
    return Load(**json.loads(done.stdout))


async def _client(
    host: str, port: int, head: str, bodies: Iterator[bytes], left: list[int], times: list[float], failed: list[int]
) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    while left[0] > 0:
        left[0] -= 1
        body = next(bodies)
        begun = time.perf_counter()
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - begun)
        if answer[9:10] != b"2":
            failed.append(1)
    writer.close()


async def _run(url: str, key: str, clients: int, requests: int, lines: Sequence[str]) -> Load:
    parts = urlsplit(url)
    head = (
        f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\nauthorization: Bearer {key}\r\n"
        "content-type: application/json\r\n"
    )
    bodies = itertools.cycle([line.encode() for line in lines])
    times: list[float] = []
    failed: list[int] = []
    left = [requests]
    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(_client(parts.hostname or "", parts.port or 80, head, bodies, left, times, failed))
    spent = time.perf_counter() - begun
    cuts = statistics.quantiles(times, n=100)
    return Load(len(times) / spent, statistics.median(times) * 1000, cuts[98] * 1000, len(failed))


def main() -> None:
    url, key, clients, requests = sys.argv[1:5]
    lines = [line for line in sys.stdin.read().splitlines() if line]
    load = asyncio.run(_run(url, key, int(clients), int(requests), lines))
    print(json.dumps({"rate": load.rate, "p50": load.p50, "p99": load.p99, "failed": load.failed}))


if __name__ == "__main__":
    main()
