"""Redis, MariaDB and Elasticsearch with persistent data: one filled store for several runs and benchmarks."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.servers.catalogue import KINDS, server
from tests.servers.processes.process import Recipe, ServerProcess

SERVERS = ("redis", "mariadb", "elasticsearch")
SIZES: Mapping[str, tuple[str, ...]] = {
    "redis": (),
    "mariadb": ("--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G"),
    # Replaces the options for test nodes: Java's quick compiler and a garbage collector for small heaps.
    "elasticsearch": (
        *("-Xms3g", "-Xmx3g", "-XX:MaxDirectMemorySize=1g", "-XX:TieredStopAtLevel=4"),
        *("-XX:-UseSerialGC", "-XX:+UseG1GC"),
    ),
}
SAID = "MariaDB with a buffer pool of 2 GB, Elasticsearch with a heap of 3 GB"
STOP_S = 600.0


@contextlib.contextmanager
def kept_servers(folder: Path) -> Iterator[Mapping[str, ServerProcess]]:
    """Run servers with their data in the folder, and stop them at the end; the data stays."""
    folder.mkdir(parents=True, exist_ok=True)
    started: dict[str, ServerProcess] = {}
    try:
        for name in SERVERS:
            process = server(name)
            process.recipe = _recipe(name, folder.resolve() / name)
            started[name] = process.start()
        yield started
    finally:
        for process in started.values():
            process.stop(STOP_S)
            process.close()


def settings_of(servers: Mapping[str, ServerProcess]) -> str:
    """The settings with which OpenBrain uses them, as JSON."""
    elasticsearch = servers["elasticsearch"].url
    return json.dumps(
        {
            "streams": {"url": servers["redis"].url},
            "truth": {"url": servers["mariadb"].url},
            "text": {"url": elasticsearch, "tuning": {"timeout_s": 60}},
            "vectors": {"url": f"elasticsearch+{elasticsearch}", "tuning": {"timeout_s": 60}},
        }
    )


def _recipe(name: str, data: Path) -> Recipe:
    recipe = KINDS[name].recipe()

    def command(port: int, _: Path) -> list[str]:
        if not data.exists():
            data.mkdir()
            recipe.prepare(data)
        words: list[Any] = recipe.command(port, data)
        # Java reads its options before the class; the last value of each option counts.
        at = words.index("--class-path") if name == "elasticsearch" else len(words)
        return [*words[:at], *SIZES[name], *words[at:]]

    return replace(recipe, command=command, prepare=lambda _: None, patience=600)
