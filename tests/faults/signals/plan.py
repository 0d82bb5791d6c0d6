"""What a seed does: which signals are raised, how, and which faults strike meanwhile."""

import random
from dataclasses import dataclass, replace

SEVERITIES = ("info", "warning", "critical")
KINDS = ("kill", "kill in a raise", "flushed", "trimmed", "streams killed", "stop", "network redis", "network api")
REPLICAS = 2
SERVED = (
    *(f"kill {service} {which}" for service in ("amygdala", "api", "housekeeper") for which in range(REPLICAS)),
    *("kill amygdala leader", "kill housekeeper leader", "stop housekeeper leader"),
    *("kill in a raise", "flushed", "trimmed", "streams killed", "network redis", "network api"),
)
"""Faults of the form in which each service has processes of its own."""
RESTARTS = "rolling restarts"
MODES = ("blackhole", "reset", "refused", "half-open", "latency")


@dataclass(frozen=True, slots=True)
class Raised:
    """One raise. `key` identifies the signal; some raises are sent twice, and some signals are raised again."""

    number: int
    key: str
    source: str
    severity: str
    by_http: bool
    copies: int

    @property
    def id(self) -> str:
        """Id of the event: the same for every copy."""
        return f"r-{self.number}"


@dataclass(frozen=True, slots=True)
class Fault:
    """`at`: the share of raises sent when the fault strikes."""

    kind: str
    at: float
    seconds: float
    mode: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.mode}".strip()


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one run."""

    seed: int
    streams: str
    raises: tuple[Raised, ...]
    faults: tuple[Fault, ...]
    nth: int
    """With a kill inside a raise: the number of the process's raise at which it is killed."""
    offline: tuple[float, float] = (0.1, 1.0)
    """The share of raises sent when one subscriber disconnects, and when it comes back."""
    rounds: int = 0
    """How often each replica of amygdala is restarted."""

    @property
    def wanted(self) -> dict[str, int]:
        """How often each signal is raised, not counting copies."""
        counts: dict[str, int] = {}
        for each in self.raises:
            counts[each.key] = counts.get(each.key, 0) + 1
        return counts


def plan(seed: int, count: int, *, kinds: tuple[str, ...] = (), faults: int = 4) -> Plan:
    """Return a plan; deterministic. `kinds`: exactly these faults; if empty, `faults` of them at random."""
    chance = random.Random(seed)
    keys = [f"k-{number}" for number in range(max(1, count * 3 // 4))]
    again = [chance.choice(keys) for _ in range(count - len(keys))]
    severity = {key: chance.choice(SEVERITIES) for key in keys}
    raises = [
        Raised(
            number=number,
            key=key,
            source=f"probe-{int(key[2:]) % 40}",
            severity=severity[key],
            by_http=chance.random() < 0.1,
            copies=chance.choice((0, 0, 0, 1, 3)),
        )
        for number, key in enumerate([*keys, *again])
    ]
    chance.shuffle(raises)
    chosen = kinds or tuple(chance.choice(KINDS) for _ in range(faults))
    return Plan(
        seed=seed,
        streams=chance.choice(("redis", "valkey")),
        raises=tuple(raises),
        faults=tuple(_fault(chance, kind) for kind in chosen),
        nth=chance.choice((2, 3, 5)),
    )


def rolling(seed: int, count: int, rounds: int) -> Plan:
    """Plan `rounds` restarts of each replica of amygdala in turn."""
    return replace(plan(seed, count, kinds=(RESTARTS,)), rounds=rounds)


def _fault(chance: random.Random, kind: str) -> Fault:
    mode = chance.choice(MODES) if kind.startswith("network") else ""
    return Fault(kind, chance.uniform(0.1, 0.9), chance.uniform(0.5, 3.0), mode)
