"""One reading of the pipeline's state, from the API alone."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openbrain_cli.operators.top.samples import Samples, quantile

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.streams import StreamList

RECALL = "/v1/brain/recall"
ALIVE_S = 60.0
"""A consumer that has been idle for longer is not a running replica, which is idle for seconds at most."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Metrics as read from the API, with the time of reading."""

    at: datetime
    status: str
    writes: str | None
    streams: "StreamList"
    samples: Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A group of a stream."""

    stream: str
    group: str
    lag: int
    pending: int
    retries: int
    oldest_s: float | None
    dead_letters: int
    replicas: int
    paused: bool
    service: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalls:
    """Recalls of the API replica that answered, since the previous reading, or since its start if there is none."""

    a_second: float | None
    p50_s: float | None
    p99_s: float | None
    phases_s: dict[str, float]
    without: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The state of the pipeline at one time."""

    at: datetime
    status: str
    writes: str | None
    replicas: dict[str, int]
    groups: tuple[GroupRow, ...]
    recall: Recalls
    outbox_waiting: int | None
    outbox_oldest_s: float | None


async def ask(brain: "OpenBrain") -> Raw:
    health, streams, text = await asyncio.gather(brain.health(), brain.streams(), brain.metrics())
    return Raw(datetime.now(UTC), health.status, health.writes, streams, Samples.of(text))


def look(raw: Raw, before: Raw | None) -> Look:
    """Compute the figures of one refresh from two readings."""
    groups = tuple(_rows(raw.streams))
    waiting = raw.samples.gauge("openbrain_outbox_waiting")
    return Look(
        at=raw.at,
        status=raw.status,
        writes=raw.writes,
        replicas=_replicas(groups),
        groups=groups,
        recall=_recalls(raw, before),
        outbox_waiting=None if waiting is None else int(waiting),
        outbox_oldest_s=raw.samples.gauge("openbrain_outbox_oldest_seconds"),
    )


def as_dict(look: Look) -> dict[str, Any]:
    return {**asdict(look), "at": look.at.isoformat()}


def _rows(streams: "StreamList") -> Iterator[GroupRow]:
    for stream in streams.streams:
        for group in stream.groups:
            ages = [age for age in (group.oldest_undelivered_s, group.oldest_pending_s) if age is not None]
            yield GroupRow(
                stream=stream.name,
                group=group.name,
                lag=group.lag,
                pending=group.pending,
                retries=group.parked,
                oldest_s=max(ages, default=None),
                dead_letters=group.dead_letters,
                replicas=sum(consumer.idle_s < ALIVE_S for consumer in group.consumers),
                paused=group.paused,
                service=group.readers == "service",
            )


def _replicas(groups: tuple[GroupRow, ...]) -> dict[str, int]:
    """Number of replicas by service: the maximum over its streams, because each replica reads all of them."""
    most: dict[str, int] = {}
    for row in groups:
        if row.service:
            most[row.group] = max(most.get(row.group, 0), row.replicas)
    return most


def _recalls(raw: Raw, before: Raw | None) -> Recalls:
    now, then = raw.samples, _comparable(raw, before)
    buckets = now.buckets("openbrain_api_request_seconds", route=RECALL)
    earlier = then.buckets("openbrain_api_request_seconds", route=RECALL)
    count = now.total("openbrain_api_request_seconds_count", route=RECALL)
    more = count - then.total("openbrain_api_request_seconds_count", route=RECALL)
    seconds = 0.0 if before is None else (raw.at - before.at).total_seconds()
    return Recalls(
        a_second=more / seconds if seconds and then.values else None,
        p50_s=quantile(0.5, buckets, earlier),
        p99_s=quantile(0.99, buckets, earlier),
        phases_s=_means("openbrain_recall_phase_seconds", "phase", now, then),
        without=_counted("openbrain_recall_degraded_total", "index", now, then),
    )


def _comparable(raw: Raw, before: Raw | None) -> Samples:
    """The earlier samples, if they are of the same process. A restarted process or another replica counts from 0."""
    start = "process_start_time_seconds"
    same = before is not None and before.samples.gauge(start) == raw.samples.gauge(start)
    return before.samples if same and before is not None else Samples({})


def _means(name: str, label: str, now: Samples, then: Samples) -> dict[str, float]:
    sums = _counted_exactly(f"{name}_sum", label, now, then)
    counts = _counted_exactly(f"{name}_count", label, now, then)
    return {item: sums.get(item, 0.0) / count for item, count in counts.items() if count > 0}


def _counted(name: str, label: str, now: Samples, then: Samples) -> dict[str, int]:
    return {item: int(count) for item, count in _counted_exactly(name, label, now, then).items() if count > 0}


def _counted_exactly(name: str, label: str, now: Samples, then: Samples) -> dict[str, float]:
    earlier = then.by(name, label)
    return {item: count - earlier.get(item, 0.0) for item, count in now.by(name, label).items()}
