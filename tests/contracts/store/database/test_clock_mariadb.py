"""A process whose host has a wrong clock stamps rows with the database server's time."""

from pathlib import Path

import pytest

from openbrain.adapters.local.clock import DatabaseClock, SystemClock
from openbrain.adapters.sql.store import open_store
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.settings import Truth
from tests.support.store.fixtures import FakeClock

HALF_AN_HOUR = 1_800_000_000
NEAR = 60_000_000


@pytest.mark.parametrize("wrong", [HALF_AN_HOUR, -HALF_AN_HOUR], ids=["ahead", "behind"])
@pytest.mark.servers("mariadb")
async def test_stamps_are_of_the_servers_time(mariadb_tables_url: str, tmp_path: Path, wrong: int) -> None:
    clock = DatabaseClock(FakeClock(SystemClock().now() + wrong))
    store = open_store(Truth(url=mariadb_tables_url), tmp_path, clock, follower=clock)
    try:
        server = await store.time()
        assert abs(clock.now() - server) < NEAR
        kind = IndexKind.TEXT
        made = Generation(kind=kind, name="t", model="", dimensions=0, builder="b", status="serving")
        await store.generations.ensure(made)
        (standing,) = await store.generations.generations(kind)
        assert abs(standing.created_at - server) < NEAR
    finally:
        await store.close()
