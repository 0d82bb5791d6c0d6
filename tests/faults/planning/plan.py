"""The plan of one seed: form, servers, operations and faults, decided by the seed and by what the servers support."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.faults.planning.operations import Operation, operations
from tests.faults.processes.inside import POINTS
from tests.faults.striking import double, network

SERVERS, UP = "servers", "up"
ROOMS = ("ingest", "embedder", "indexer-text", "indexer-vector", "matcher", "housekeeper", "api")
LEASE_S = 2.0

SETTINGS: Mapping[str, str] = {
    "OPENBRAIN_STREAMS__LEASE_S": str(LEASE_S),
    "OPENBRAIN_STREAMS__TUNING__REAP_S": "0.2",
    "OPENBRAIN_STREAMS__BACKOFF_S": "[0.3, 0.6, 1.2]",
    "OPENBRAIN_STREAMS__BATCH": "8",
    "OPENBRAIN_STREAMS__TUNING__POLL_S": "0.5",
    "OPENBRAIN_STREAMS__TUNING__BREAKER_S": "0.1",
    "OPENBRAIN_STREAMS__TUNING__BREAKER_MAX_S": "0.5",
    "OPENBRAIN_STREAMS__TUNING__RECONNECT_MAX_S": "0.5",
    "OPENBRAIN_STREAMS__TUNING__SHUTDOWN_S": "3",
    "OPENBRAIN_TRUTH__TUNING__LOCK_WAIT_S": "2",
    "OPENBRAIN_TRUTH__POOL": "4",
    "OPENBRAIN_TEXT__TUNING__REFRESH_MS": "50",
    "OPENBRAIN_TEXT__TUNING__TIMEOUT_S": "2",
    "OPENBRAIN_VECTORS__TUNING__TIMEOUT_S": "2",
    "OPENBRAIN_EMBEDDING__TIMEOUT_S": "2",
    "OPENBRAIN_EMBEDDING__BATCH": "8",
    "OPENBRAIN_HOUSEKEEPING__TUNING__LEASE_S": "1",
    "OPENBRAIN_HOUSEKEEPING__TUNING__EXPIRY_EVERY_S": "0.3",
    "OPENBRAIN_HOUSEKEEPING__TUNING__TRIM_EVERY_S": "1",
    "OPENBRAIN_SERVER__RATE_PER_MINUTE": "0",
    "OPENBRAIN_LOGS__LEVEL": "INFO",
}
"""All durations are scaled down, so that leases, retries and breakers run through all their states within a seed."""

_KEEPING = "OPENBRAIN_HOUSEKEEPING__"
_RECONCILE, _VERIFY = f"{_KEEPING}TUNING__RECONCILE_EVERY_S", f"{_KEEPING}VERIFY_EVERY_S"
_GRACE = f"{_KEEPING}TUNING__GRACE_S"
RECONCILING = {_RECONCILE: "0.5", _VERIFY: "2", _GRACE: "2"}
RESTING = {_RECONCILE: "3600", _VERIFY: "3600"}
"""Half of the seeds must converge without reconciliation and verification; only data lost in a flushed server needs
them."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`at`: the share of operations done when the fault strikes. `seconds`: its duration, if it has one."""

    kind: str
    target: str = ""
    at: float = 0.0
    seconds: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one run."""

    seed: int
    form: str
    streams: str
    embedder: str
    operations: tuple[Operation, ...]
    producers: int
    slots: int
    replicas: Mapping[str, int]
    faults: tuple[Fault, ...]
    pause_s: float = 0.03
    settings: Mapping[str, str] = field(default_factory=dict)
    mutant: str = ""
    strict_tombstones: bool = True
    """Whether every tombstone must still exist at the end."""
    converge_s: float = 0.0
    """Time in which the indexes must become equal once no fault is active; 0: the usual patience."""
    held: tuple[int, str] = (-1, "")
    """(number, service): operations from this number on wait until a process of this service has passed its mark; with
    '', until no work is pending."""
    once: bool = False
    """Whether no text may be embedded twice, because no process dies in this plan."""


def plan(seed: int, abilities: frozenset[str], *, count: int = 120, form: str = "") -> Plan:
    """Return the plan of a seed; deterministic for the same abilities. `form`: use only this form."""
    chance = random.Random(seed)
    # A tenth of the seeds run in one process, which loads a model and index engines for itself.
    chosen = UP if chance.random() < 0.1 and "up" in abilities else SERVERS
    form = form or chosen
    streams = chance.choice([name for name in ("redis", "valkey") if f"streams {name}" in abilities])
    embedder = "ollama" if "ollama" in abilities and chance.random() < 0.05 else "double"
    if form == UP:
        embedder = chance.choice(("embedded", "double"))
    faults = _faults_up(chance) if form == UP else _faults(chance, abilities, embedder)
    slots = chance.choice((12, 24, 40))
    # These services decide by their own clock whether a memory has expired; the others ask the database.
    skewed = any(fault.kind == "clock skew" and fault.target in ("api", "ingest", "up") for fault in faults)
    # A real model on a busy machine takes its time.
    quick = embedder == "double"
    made = operations(chance, count if quick else count // 2, slots, ends_soon=not skewed, long=quick)
    replicas = {service: 1 if service == "api" else chance.choice((1, 1, 2)) for service in ROOMS}
    retention = {"OPENBRAIN_STREAMS__RETENTION_S": "1.5"} if chance.random() < 0.3 else {}
    flushed = any(fault.kind == "streams flushed" for fault in faults)
    compared = RECONCILING if flushed or chance.random() < 0.5 else RESTING
    return Plan(
        seed=seed,
        form=form,
        streams=streams,
        embedder=embedder,
        operations=tuple(made),
        producers=chance.choice((2, 4, 6)),
        slots=slots,
        replicas=replicas,
        faults=tuple(faults),
        settings={**retention, **compared},
        strict_tombstones=not retention,
    )


def _mark(chance: random.Random, service: str) -> Fault:
    mark = {
        "room": service,
        "point": chance.choice(list(POINTS[service])),
        "nth": chance.choice((1, 2, 3, 5, 9)),
        "action": chance.choices(("kill", "stop"), weights=(4, 1))[0],
        "seconds": LEASE_S * 1.7,
    }
    return Fault(f"{mark['action']} at a mark", f"{service} {mark['point']}", more=mark)


def _faults(chance: random.Random, abilities: frozenset[str], embedder: str) -> list[Fault]:
    found = [_mark(chance, service) for service in chance.sample(ROOMS, chance.choice((1, 2, 2, 3)))]
    kinds = {
        "kill": 2.0,
        "stop": 1.5,
        "streams kill": 1.0,
        "streams demoted": 1.0,
        "streams paused": 1.0,
        "streams full memory": 1.0,
        "streams full disk": 0.8 if "full disk" in abilities else 0.0,
        "streams flushed": 1.0,
        "truth kill": 0.8,
        "truth locks": 1.0,
        "truth stopped": 0.7,
        "indexes stopped": 0.7 if "elasticsearch kill" in abilities else 0.0,
        "indexes kill": 0.15 if "elasticsearch kill" in abilities else 0.0,
        "embedder": 1.5 if embedder == "double" else 0.0,
        "network": 2.5,
        "clock skew": 0.8,
        "redelivery": 1.5,
        "late redelivery": 1.0,
        "spoilt entries": 1.0,
    }
    # Now and then a storm.
    count = chance.choice((2, 3, 4)) if chance.random() < 0.9 else 12
    chosen = dict.fromkeys(chance.choices(list(kinds), weights=list(kinds.values()), k=count))
    return found + [_fault(chance, kind) for kind in chosen]


def _fault(chance: random.Random, kind: str) -> Fault:
    at, seconds = chance.uniform(0.05, 0.8), chance.uniform(0.5, 3.0)
    match kind:
        case "kill":
            return Fault(kind, chance.choice(ROOMS), at)
        case "stop":
            return Fault(kind, chance.choice(ROOMS), at, LEASE_S * chance.uniform(1.2, 2))
        case "embedder":
            return Fault(kind, chance.choice(double.MODES), at, seconds)
        case "network":
            mode = chance.choice(network.MODES)
            lasts = 7.0 if mode == "blackhole" else seconds
            return Fault(kind, chance.choice(("streams", "truth", "indexes", "embedder")), at, lasts, {"mode": mode})
        case "clock skew":
            return Fault(kind, chance.choice(ROOMS), more={"skew_s": chance.choice((-3600, 3600))})
        case "late redelivery":
            return Fault(kind, at=2.0)
        case _:
            return Fault(kind, "", at, seconds)


def _faults_up(chance: random.Random) -> list[Fault]:
    found = [_mark(chance, "up")]
    own = ("kill", "stop", "clock skew", "redelivery", "late redelivery", "spoilt entries")
    streams = ("streams flushed", "streams paused", "streams full memory")
    for kind in chance.sample((*own, *streams), chance.choice((2, 3))):
        fault = _fault(chance, kind)
        target = "up" if kind in {"kill", "stop", "clock skew"} else ""
        found.append(Fault(kind, target, fault.at, fault.seconds, fault.more))
    return found
