"""A Redis with failover: a master, its replicas, and the Sentinels that elect a new master."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import redis
import redis.exceptions

from tests.servers.places import free_port
from tests.servers.processes.probes import redis_pong
from tests.servers.processes.process import Recipe, ServerProcess
from tests.servers.redis_server import redis_recipe
from tests.support.waiting import PATIENCE_S

NAME = "brain"
QUORUM = 2
DOWN_MS = 2000
"""Silence after which a Sentinel regards a server as down: on a busy machine a running one may be silent for a
second."""


@dataclass
class Sentinels:
    """The Redis servers by port, whichever of them is the master, and their Sentinels."""

    servers: dict[int, ServerProcess]
    watchers: list[ServerProcess]

    @property
    def url(self) -> str:
        """The URL that services are configured with."""
        places = ",".join(f"127.0.0.1:{each.port}" for each in self.watchers)
        return f"redis+sentinel://{places}/{NAME}/0"

    def master(self) -> ServerProcess:
        """Return the server that two of three Sentinels name, once it is a master."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            named = [self._named(watcher) for watcher in self.watchers]
            for port in {each for each in named if named.count(each) >= QUORUM and each}:
                if self.role(port) == "master":
                    return self.servers[port]
            time.sleep(0.05)
        raise TimeoutError("the Sentinels name no master")

    def replicas(self) -> list[ServerProcess]:
        """Return the replicas that are connected to the master and in sync."""
        master = self.master()
        return [each for port, each in self.servers.items() if each is not master and self.role(port) == "slave"]

    def role(self, port: int) -> str:
        """Return the role of a server; '' if it does not answer or its link to the master is down."""
        with contextlib.suppress(redis.RedisError), contextlib.closing(self.link(port)) as link:
            said = link.info("replication")
            following = said["role"] == "master" or said.get("master_link_status") == "up"
            return str(said["role"]) if following else ""
        return ""

    def link(self, port: int | None = None) -> "redis.Redis":
        """Return a client of one server; of the master if no port is given."""
        return redis.Redis(port=port or self.master().port, socket_timeout=5, protocol=2)

    def wait_until_whole(self) -> None:
        """Wait until two replicas follow the master, and every Sentinel knows both and the other Sentinels."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if len(self.replicas()) == len(self.servers) - 1 and all(map(self._knows_all, self.watchers)):
                return
            time.sleep(0.1)
        raise TimeoutError("the replicas don't follow")

    def _named(self, watcher: ServerProcess) -> int:
        with contextlib.suppress(redis.RedisError), contextlib.closing(self.link(watcher.port)) as link:
            found = link.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)  # type: ignore[no-untyped-call]
            return int(found[1])
        return 0

    def _knows_all(self, watcher: ServerProcess) -> bool:
        with contextlib.suppress(redis.RedisError), contextlib.closing(self.link(watcher.port)) as link:
            known: Any = link.sentinel_master(NAME)
            return bool(
                known["num-slaves"] == len(self.servers) - 1
                and known["num-other-sentinels"] == len(self.watchers) - 1
                and not known["is_sdown"]
            )
        return False


@contextlib.contextmanager
def sentinels(*options: str) -> Iterator[Sentinels]:
    """Start one master, two replicas and three Sentinels. `options`: command-line options of the servers."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(ServerProcess(_following(0, options)))
        others = [stack.enter_context(ServerProcess(_following(first.port, options))) for _ in range(2)]
        watchers = [stack.enter_context(ServerProcess(_watching(first.port), port=free_port())) for _ in range(3)]
        made = Sentinels({each.port: each for each in (first, *others)}, watchers)
        made.wait_until_whole()
        yield made


def _following(master: int, options: tuple[str, ...]) -> Recipe:
    recipe = redis_recipe()
    more = ("--replicaof", "127.0.0.1", str(master)) if master else ()
    quick = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
    return replace(recipe, command=lambda port, data: [*recipe.command(port, data), *quick, *more, *options])


def _watching(master: int) -> Recipe:
    """Return the recipe of a Sentinel, which stores its state in its configuration file."""

    def command(port: int, data: Path) -> list[str]:
        file = data / "sentinel.conf"
        if not file.exists():
            file.write_text(
                f"sentinel monitor {NAME} 127.0.0.1 {master} {QUORUM}\n"
                f"sentinel down-after-milliseconds {NAME} {DOWN_MS}\n"
                f"sentinel failover-timeout {NAME} 5000\n"
            )
        return [redis_recipe().command(port, data)[0], str(file), "--port", str(port), "--sentinel"]

    return Recipe(name="sentinel", url="redis://127.0.0.1:{port}", command=command, answers=redis_pong)
