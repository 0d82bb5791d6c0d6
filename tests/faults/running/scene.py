"""What faults act on."""

import random
from collections import Counter
from typing import Any, Protocol

import redis

from tests.faults.processes.fleet import Fleet
from tests.faults.striking.double import Double
from tests.faults.striking.network import Network
from tests.servers.processes.process import ServerProcess


class Scene(Protocol):
    """A run, as a fault sees it."""

    fleet: Fleet
    double: Double
    networks: dict[str, Network]
    prefix: str
    injected: Counter[str]
    chance: random.Random
    archive: dict[str, dict[bytes, None]]
    """Every entry of the work streams so far, by stream name without prefix."""

    @property
    def streams(self) -> ServerProcess: ...
    @property
    def truth(self) -> ServerProcess: ...
    @property
    def indexes(self) -> ServerProcess | None: ...

    def link(self) -> "redis.Redis": ...
    def sql(self) -> Any: ...
    def start_room(self, service: str) -> None: ...
    def all_done(self) -> bool: ...
    def elasticsearch_url(self) -> str: ...
