"""A burst of submissions, and what is observed of it: replicas and waiting entries, second by second."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
import redis

from tests.faults.running.world import WORKSPACE
from tests.faults.verifying.streams_reading import GROUPS

_AT_ONCE = 1000


def submit(link: "redis.Redis", count: int) -> None:
    """Submit `count` memories, all different."""
    for first in range(0, count, _AT_ONCE):
        with link.pipeline(transaction=False) as pipe:
            for number in range(first, min(first + _AT_ONCE, count)):
                pipe.xadd("memory.submitted", {"__data__": _event(number)})
            pipe.execute()


def _event(number: int) -> bytes:
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": f"burst-{number}",
            "source": "/burst",
            "type": "openbrain.memory.submitted.v1",
            "data": {"workspace_id": WORKSPACE, "content": f"Memory {number} of a burst.", "type": "fact"},
        }
    )


def waiting(link: "redis.Redis") -> dict[str, int]:
    """Return for each group the entries not yet delivered to it or pending, over all its streams."""
    found: dict[str, int] = {}
    for stream, groups in GROUPS.items():
        if not link.exists(stream):
            continue
        standing: dict[str, Any] = {each["name"].decode(): each for each in link.xinfo_groups(stream)}
        for group in groups:
            said = standing.get(group, {})
            found[group] = found.get(group, 0) + int(said.get("lag") or 0) + int(said.get("pending", 0))
    return found


@dataclass
class Seen:
    """Seconds since the burst began, with the replicas and the waiting entries at each time."""

    services: Sequence[str]
    seconds: list[float] = field(default_factory=list)
    replicas: list[Mapping[str, int]] = field(default_factory=list)
    waiting: list[Mapping[str, int]] = field(default_factory=list)

    def note(self, second: float, replicas: Mapping[str, int], waits: Mapping[str, int]) -> None:
        self.seconds.append(round(second, 1))
        self.replicas.append(dict(replicas))
        self.waiting.append(dict(waits))

    def most(self, service: str) -> int:
        return max(each.get(service, 0) for each in self.replicas)

    def json(self) -> str:
        return json.dumps(asdict(self))
