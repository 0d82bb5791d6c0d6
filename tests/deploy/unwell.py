"""A process with OpenBrain's metrics that is well until a line of input says otherwise: python -m tests.deploy.unwell
PORT ENDING.

It serves scrapes on both ports. When it is unwell, every alert has its cause, and the second port is closed.
"""

import sys
import threading
import time

from prometheus_client import Counter, Gauge, start_http_server

from openbrain.observability import metrics

READER = ("memory.stored", "embedder")
WORKSPACE = ("w",)
HOURS = 3600.0
STEP_S = 0.05

GAUGES: tuple[tuple[Gauge, tuple[str, ...], float, float], ...] = (
    (metrics.BACKLOG_FULL, (), 0, 1),
    (metrics.OUTBOX_OLDEST_SECONDS, (), 59, 61),
    (metrics.STREAM_STOPPED, READER, 0, 1),
    (metrics.STREAM_BREAKER_OPEN, READER[1:], 0, 1),
    (metrics.STREAM_UNDELIVERED_SECONDS, READER, 299, 301),
    (metrics.STREAM_OLDEST_SECONDS, READER, 899, 901),
    (metrics.STREAM_DEAD_LETTERS, READER, 0, 1),
    (metrics.STREAM_DEAD_LETTERS_FILLED, READER, 0.79, 0.81),
    (metrics.STREAM_MEMORY_SHARE, (), 0.69, 0.71),
    (metrics.SIGNALS_UNACKNOWLEDGED, WORKSPACE, 0, 1),
)
"""Metric, labels, and its values while the process is well and while it is not."""
MOMENTS: tuple[tuple[Gauge, tuple[str, ...], float, float], ...] = (
    (metrics.RECONCILE_COMPLETED, (), -3.9 * HOURS, -4.1 * HOURS),
    (metrics.TICK_COMPLETED, WORKSPACE, -4.9 * HOURS, -5.1 * HOURS),
)
"""Timestamps: metric, labels, and offsets in seconds from now, while the process is well and while it is not."""
COUNTERS: tuple[tuple[Counter, tuple[str, ...]], ...] = (
    (metrics.RECONCILE_DIFFERENCES, ("text", "missing")),
    (metrics.RECALL_DEGRADED, ("vectors",)),
    (metrics.WEBHOOK_POSTS, ("dead",)),
)
"""Counters of rare events: they do not increase while the process is well."""
RECALL = "/v1/brain/recall"


def _set(gauge: Gauge, labels: tuple[str, ...], value: float) -> None:
    (gauge.labels(*labels) if labels else gauge).set(value)


def _live(unwell: bool) -> None:
    """Set every metric for one time step."""
    for gauge, labels, well, ill in GAUGES:
        _set(gauge, labels, ill if unwell else well)
    for gauge, labels, well, ill in MOMENTS:
        _set(gauge, labels, time.time() + (ill if unwell else well))
    for counter, labels in COUNTERS:
        counter.labels(*labels).inc(unwell)
    metrics.API_REQUESTS.labels("POST", RECALL, "500" if unwell else "404").inc()
    metrics.API_REQUESTS.labels("POST", RECALL, "200").inc()
    metrics.API_SECONDS.labels("POST", RECALL).observe(2 if unwell else 0.5)
    metrics.INDEXED_SECONDS.labels("text").observe(50 if unwell else 10)


def main(port: int, ending: int) -> None:
    """Run until the input ends."""
    start_http_server(port, "127.0.0.1", metrics.REGISTRY)
    server, _ = start_http_server(ending, "127.0.0.1", metrics.REGISTRY)
    unwell, ended = threading.Event(), threading.Event()

    def live() -> None:
        while not ended.wait(STEP_S):
            _live(unwell.is_set())

    _live(unwell=False)
    threading.Thread(target=live).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if sys.stdin.readline():
        unwell.set()
        server.shutdown()
        server.server_close()
        sys.stdin.readline()
    ended.set()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
