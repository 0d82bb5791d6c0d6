"""Low-priority work waits: in the outbox of both databases, and in the lane of the commits. Order is tested, not
time."""

import asyncio
from itertools import pairwise

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.ports.store.transfer import Landed, StoredMemory
from openbrain.ports.store.writes import Outcome, Write
from openbrain_api.memories.committing import SINGLE_FIRST, Committer
from tests.support.store.fixtures import memory, origin, rows, stored, write


async def published(store: SqlStore, limit: int) -> list[str]:
    """Streams, in the order in which a relay empties the outbox."""
    order: list[str] = []
    while entries := await store.outbox.take(limit):
        order += [entry.stream for entry in entries]
        await store.outbox.delete([entry.id for entry in entries])
    return order


async def imported(store: SqlStore, count: int) -> None:
    landed = await store.transfer.load(
        "w2", [StoredMemory(memory(f"imported {number}", workspace_id="w2")) for number in range(count)]
    )
    assert set(landed) == {Landed.CREATED}


async def test_a_live_memory_is_published_before_an_import_that_came_first(store: SqlStore) -> None:
    await imported(store, 60)
    await stored(store.writes, "live")
    await imported(store, 60)
    await stored(store.writes, "live too")

    order = await published(store, 10)

    assert order == ["memory.stored"] * 2 + ["memory.reindex"] * 120


async def test_live_ones_that_come_while_an_import_drains_do_not_wait_for_its_end(store: SqlStore) -> None:
    await imported(store, 40)
    order: list[str] = []
    for number in range(4):
        entries = await store.outbox.take(10)
        order += [entry.stream for entry in entries]
        await store.outbox.delete([entry.id for entry in entries])
        await stored(store.writes, f"live {number}")
    order += await published(store, 10)

    assert [place for place, stream in enumerate(order) if stream == "memory.stored"] == [10, 20, 30, 40]
    assert len(order) == 44


async def test_memories_of_an_import_are_remembered_at_low_priority(store: SqlStore, database: Database) -> None:
    """Also those written through the same call as any other."""
    outcomes = await store.writes.remember([write("waits", origin=origin(bulk=True)), write("does not")])

    assert [outcome.status for outcome in outcomes] == ["created", "created"]
    found = await rows(database, "SELECT stream FROM outbox ORDER BY id")
    assert sorted(each["stream"] for each in found) == ["memory.reindex", "memory.stored"]


class Slow:
    """A store whose commits end when the test says so, in order."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.begun: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def remember(self, writes: list[Write]) -> list[Outcome]:
        self.order.append("live")
        return await self._commit(len(writes))

    async def load(self) -> None:
        self.order.append("bulk")
        await self._commit(0)

    async def _commit(self, count: int) -> list[Outcome]:
        ended = asyncio.Event()
        await self.begun.put(ended)
        await ended.wait()
        return [Outcome("created", memory()) for _ in range(count)]  # type: ignore[arg-type]

    async def end_one(self) -> None:
        (await self.begun.get()).set()
        await asyncio.sleep(0)


class NoWake:
    async def notify(self) -> None:
        """Do nothing."""

    async def wait(self, seconds: float) -> None:
        """Return at once."""


async def test_single_writes_pass_an_import_but_do_not_stop_it() -> None:
    """While single writes keep arriving, an import gets one commit in five, and never the first."""
    store = Slow()
    committer = Committer(store, NoWake(), group=1, lanes=1)  # type: ignore[arg-type]
    live = [asyncio.create_task(committer.remember(write(f"live {number}"))) for number in range(12)]
    await asyncio.sleep(0)
    bulk = [asyncio.create_task(committer.may_wait(store.load)) for _ in range(4)]
    for _ in range(16):
        await store.end_one()
        await asyncio.sleep(0.001)
    await asyncio.gather(*live, *bulk)
    await committer.close()

    places = [place for place, what in enumerate(store.order) if what == "bulk"]
    assert store.order.count("live") == 12
    assert places[0] >= SINGLE_FIRST
    assert places[0] < 12, store.order
    alone = [later - earlier for earlier, later in pairwise(places) if later < 12]
    assert all(gap >= SINGLE_FIRST for gap in alone), store.order


async def test_an_import_alone_has_every_commit() -> None:
    store = Slow()
    committer = Committer(store, NoWake(), group=1, lanes=1)  # type: ignore[arg-type]
    bulk = [asyncio.create_task(committer.may_wait(store.load)) for _ in range(3)]
    for _ in range(3):
        await store.end_one()
    await asyncio.gather(*bulk)
    await committer.close()

    assert store.order == ["bulk"] * 3
