"""Servers for the short run: stream servers and a database for these tests alone, and the run's shared
Elasticsearch."""

from collections.abc import Iterator

import pytest

from tests.faults.running.world import World, world
from tests.servers.plugin import need
from tests.servers.processes.process import Server


@pytest.fixture(scope="module")
def servers(elasticsearch_server: Server) -> Iterator[World]:
    for name in ("redis", "valkey", "mariadb"):
        need(name)
    with world(elasticsearch_url=elasticsearch_server.url) as made:
        yield made
