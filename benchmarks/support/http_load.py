"""A load generator in a separate process: keep-alive connections that post bodies as fast as they are answered.

Blocking sockets, one thread each: a request costs a fraction of the server's time here.

KEY may be several keys, separated by commas: each connection uses the next one.

python -m benchmarks.support.http_load URL KEY CLIENTS REQUESTS < bodies (JSON lines), prints one JSON object.
"""

import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Load:
    """Result of a load: requests a second, and latencies in milliseconds."""

    rate: float
    p50: float
    p99: float
    failed: int


def measure(url: str, key: str, clients: int, requests: int, bodies: Sequence[str], cpus: str = "") -> Load:
    """Run the generator as a process (on `cpus`, as taskset takes them) and wait for its figures."""
    pinned = ["taskset", "-c", cpus] if cpus else []
    command = [*pinned, sys.executable, "-m", "benchmarks.support.http_load", url, key, str(clients), str(requests)]
    done = subprocess.run(command, input="\n".join(bodies), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the load generator failed:\n{done.stderr}")
    return Load(**json.loads(done.stdout))


def _client(
    address: tuple[str, int], head: bytes, requests: Iterator[bytes], times: list[float], failed: list[int]
) -> None:
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for request in requests:
            begun = time.perf_counter()
            connection.sendall(head + request)
            answer = _answer(connection)
            times.append(time.perf_counter() - begun)
            if answer[9:10] != b"2" or b'"isError":true' in answer:
                failed.append(1)


def _answer(connection: socket.socket) -> bytes:
    """Head and body."""
    answer = connection.recv(65536)
    while (head := answer.find(b"\r\n\r\n")) < 0:
        answer += _more(connection)
    length = int(answer[:head].lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(answer) < head + 4 + length:
        answer += _more(connection)
    return answer


def _more(connection: socket.socket) -> bytes:
    part = connection.recv(65536)
    if not part:
        raise SystemExit("the server closed a connection")
    return part


def _run(url: str, key: str, clients: int, requests: int, lines: Sequence[str]) -> Load:
    parts = urlsplit(url)
    heads = [
        f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\nauthorization: Bearer {each}\r\n"
        "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        for each in key.split(",")
    ]
    ready = [f"content-length: {len(line.encode())}\r\n\r\n{line}".encode() for line in lines]
    # One iterator for all threads: the next free one takes the next body.
    left = iter([ready[number % len(ready)] for number in range(requests)])
    times: list[float] = []
    failed: list[int] = []
    address = (parts.hostname or "", parts.port or 80)
    threads = [
        threading.Thread(target=_client, args=(address, heads[number % len(heads)].encode(), left, times, failed))
        for number in range(clients)
    ]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - begun
    if len(times) < requests:
        raise SystemExit(f"{requests - len(times)} requests were not answered")
    cuts = statistics.quantiles(times, n=100)
    return Load(len(times) / spent, statistics.median(times) * 1000, cuts[98] * 1000, len(failed))


def main() -> None:
    url, key, clients, requests = sys.argv[1:5]
    lines = [line for line in sys.stdin.read().splitlines() if line]
    load = _run(url, key, int(clients), int(requests), lines)
    print(json.dumps({"rate": load.rate, "p50": load.p50, "p99": load.p99, "failed": load.failed}))


if __name__ == "__main__":
    main()
