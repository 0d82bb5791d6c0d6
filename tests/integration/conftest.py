"""A set of servers for one test, and the environment variables of an operator who uses them."""

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import SqlStore, open_store
from openbrain.domain.access.permissions import Permission
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import MemoryType
from openbrain.ports.store.tenants import Workspace
from openbrain.settings import Truth
from openbrain.usecases.auth import hash_secret, issue
from tests.servers.processes.process import Server
from tests.support.cli.services import Process, Services
from tests.support.cli.services import services as running_rooms
from tests.support.store.fixtures import rows
from tests.support.waiting import PATIENCE_S, until


@dataclass(frozen=True, slots=True)
class Servers:
    """What a test runs on: the settings of every process, and access to database and streams."""

    environment: Mapping[str, str]
    store: SqlStore
    redis: Redis
    prefix: str
    key: str

    async def submit(self, number: int, content: str, **more: Any) -> None:
        """Submit by one XADD."""
        offered = MemorySubmitted(**{"type": MemoryType.FACT, "workspace_id": "default", "content": content, **more})
        body = encode(SUBMITTED.name, offered, event_id=f"s-{number}", at=0)
        await self.redis.xadd(self.prefix + SUBMITTED.name, {FIELD: body})

    async def leader(self, keepers: Sequence[Process]) -> Process:
        """The housekeeper that holds the lease: on a busy machine several may have held it."""
        holders = "SELECT holder FROM leases WHERE name = 'housekeeper'"
        pids = {each.popen.pid: each for each in keepers}

        async def who() -> Process | None:
            found = await rows(self.store._database, holders)
            # The holder's name is host-pid-random.
            return next((pids.get(int(each["holder"].rsplit("-", 2)[1])) for each in found), None)

        async def somebody() -> bool:
            return await who() is not None

        await until(somebody)
        leads = await who()
        assert leads is not None
        return leads

    def http(self, url: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {self.key}"}, timeout=PATIENCE_S, verify=False
        )


def environment(name: str, *, redis: Server, mariadb_url: str, elasticsearch: Server, ollama: Server) -> dict[str, str]:
    """The environment as an operator sets it, with times scaled down."""
    return {
        "OPENBRAIN_STREAMS__URL": redis.url,
        "OPENBRAIN_STREAMS__PREFIX": f"{name}.",
        "OPENBRAIN_STREAMS__LEASE_S": "4",
        "OPENBRAIN_STREAMS__TUNING__REAP_S": "0.3",
        "OPENBRAIN_STREAMS__BATCH": "16",
        "OPENBRAIN_STREAMS__TUNING__BREAKER_S": "0.2",
        "OPENBRAIN_STREAMS__TUNING__BREAKER_MAX_S": "1",
        "OPENBRAIN_TRUTH__URL": mariadb_url,
        "OPENBRAIN_TEXT__URL": elasticsearch.url,
        "OPENBRAIN_TEXT__TUNING__REFRESH_MS": "100",
        "OPENBRAIN_VECTORS__URL": f"elasticsearch+{elasticsearch.url}",
        "OPENBRAIN_EMBEDDING__URL": ollama.url,
        "OPENBRAIN_EMBEDDING__MODEL": "all-minilm",
        # On a busy machine an answer may rightly lack an index; these tests are about something else.
        "OPENBRAIN_RECALL__TUNING__INDEX_TIMEOUT_S": "60",
        "OPENBRAIN_HOUSEKEEPING__TUNING__LEASE_S": "2",
    }


async def prepared(values: Mapping[str, str], name: str, folder: Path) -> Servers:
    """Create the schema, a workspace and a key."""
    upgrade(values["OPENBRAIN_TRUTH__URL"])
    clock = SystemClock()
    store = open_store(Truth(url=values["OPENBRAIN_TRUTH__URL"]), folder, clock)
    await store.workspaces.create_workspace(Workspace(id="default", name="default", created_at=clock.now()))
    key, secret = issue(workspace_id="default", name="test", permissions=frozenset(Permission), now=clock.now())
    await store.api_keys.create_key(key, hash_secret(secret))
    return Servers(values, store, Redis.from_url(values["OPENBRAIN_STREAMS__URL"]), f"{name}.", secret)


@pytest.fixture
async def servers(
    tmp_path: Path, redis_server: Server, mariadb_url: str, elasticsearch_server: Server, ollama_server: Server
) -> AsyncIterator[Servers]:
    """The run's shared servers, with names that only this test uses."""
    name = f"t{uuid.uuid4().hex[:10]}"
    values = environment(
        name, redis=redis_server, mariadb_url=mariadb_url, elasticsearch=elasticsearch_server, ollama=ollama_server
    )
    made = await prepared(values, name, tmp_path)
    yield made
    await made.store.close()
    await made.redis.aclose()


@pytest.fixture
def started(servers: Servers, tmp_path: Path) -> Iterator[Services]:
    """Starts services on those servers."""
    with running_rooms(servers.environment, tmp_path) as made:
        yield made
