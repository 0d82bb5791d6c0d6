"""A reindex waits for everything announced until the scan ended, and not for events that keep arriving after it."""

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.tantivy import TantivyText
from openbrain.domain.errors import NeverRetry, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import Extent
from openbrain.ports.store.operations import Operation, Progress
from openbrain.usecases.indexes.index_writers import LEASE_S
from openbrain_housekeeper.handlers.reindex import ROUNDS, Reindexing, Target
from openbrain_indexer.handlers.text import project_text
from tests.support.embedder.handler import database, store
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import FakeClock, clock, memory

NEW = Generation(kind=IndexKind.TEXT, name="t-2", model="", dimensions=0, builder="", status=GenerationStatus.BUILDING)

__all__ = ["clock", "database", "store"]


@dataclass
class Stream:
    """`memory.reindex` and its readers, as far as the test needs them."""

    published: list[tuple[str, bytes]] = field(default_factory=list)
    waiting: int = 0
    oldest: int | None = None

    async def publish(self, events: Sequence[tuple[str, bytes]]) -> Sequence[Exception | None]:
        self.published += events
        return [None] * len(events)

    async def behind(self, _: Sequence[str]) -> int:
        return self.waiting

    async def since(self, _: Sequence[str]) -> int | None:
        return self.oldest


@dataclass
class Scene:
    """A reindex of the text index with three memories, after its scan."""

    store: SqlStore
    index: TantivyText
    clock: FakeClock
    stream: Stream
    rebuild: Reindexing
    operation: Operation

    async def step(self) -> Progress:
        progress = await self.rebuild(self.operation)
        self.operation = replace(self.operation, done=progress.done, total=progress.total, result=progress.result)
        return progress

    @property
    def phase(self) -> str:
        return str(self.operation.result["phase"])

    async def to_comparing(self) -> None:
        while self.operation.result.get("announced_by") is None:
            await self.step()

    async def compare(self) -> None:
        """Compare, as after everything announced was processed."""
        self.operation = replace(self.operation, result={**self.operation.result, "announced_by": 1})
        await self.step()

    async def write(self) -> None:
        """Write the new index, as the readers do."""
        ids = [row.id for row in await self.store.expected_entries.list_extent(Extent(kind=IndexKind.TEXT), "", 10)]
        generation = next(
            each for each in await self.store.generations.written(IndexKind.TEXT) if each.name == NEW.name
        )
        assert not await project_text(ids, store=self.store, index=self.index, generations=[generation])

    async def write_until(self, phase: str) -> None:
        """Step until this phase; what was announced is written before it is compared."""
        while self.operation.result.get("phase") != phase:
            if self.operation.result.get("phase") == "compare":
                await self.write()
            await self.step()


@pytest.fixture
async def scene(store: SqlStore, database: Database, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Scene]:
    index = TantivyText(tmp_path / "text", commit_ms=1)
    new = replace(NEW, builder=index.builder)
    await store.generations.ensure(replace(new, name="t-1", status=GenerationStatus.SERVING))
    await put(database, *(memory(each) for each in "abc"))
    clock.advance(60 * MICROSECONDS)
    stream = Stream()

    async def plan(_: Operation) -> Generation:
        return new

    target = Target(index=lambda: index, plan=plan, prepare=lambda generation: index.prepare(generation.name))
    rebuild = Reindexing(store, {IndexKind.TEXT: target}, stream.publish, stream.behind, stream.since, clock)
    operation = Operation(id="0" * 36, workspace_id="o", kind="reindex", actor="me", request={"index": "text"})
    yield Scene(store, index, clock, stream, rebuild, operation)
    await index.close()


async def test_writers_that_keep_up_with_the_walk_do_not_keep_it_going(
    scene: Scene, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbrain_housekeeper.handlers.reindex.PAGE", 3)
    while scene.operation.result.get("phase") != "scan":
        await scene.step()

    for number in range(10):
        scene.clock.advance(60 * MICROSECONDS)
        await put(database, *(memory(f"{number} {each}", now=scene.clock.now()) for each in "abc"))
        await scene.step()
        if scene.phase != "scan":
            break

    assert scene.phase == "compare"
    assert (scene.operation.done, scene.operation.total) == (3, 3)


async def test_what_an_hour_fast_clock_stored_before_is_walked_through_too(scene: Scene, database: Database) -> None:
    """The comparison takes the memory for a recent change, so only the scan brings it into the new index."""
    ahead = memory("ahead", now=scene.clock.now() + 3600 * MICROSECONDS)
    await put(database, ahead)
    scene.stream.oldest = None

    await scene.to_comparing()

    assert ahead.id.encode() in b"".join(body for _, body in scene.stream.published)
    assert (scene.operation.done, scene.operation.total) == (4, 4)


async def test_what_comes_steadily_is_not_waited_for(scene: Scene) -> None:
    await scene.to_comparing()
    await scene.write()
    # The readers are always busy, but they have processed what the scan announced.
    scene.clock.advance(MICROSECONDS)
    scene.stream.waiting, scene.stream.oldest = 300, scene.clock.now()

    await scene.step()

    assert scene.phase == "swap"


async def test_what_was_announced_is_waited_for_before_anything_counts_as_lacking(scene: Scene) -> None:
    await scene.to_comparing()
    scene.stream.waiting, scene.stream.oldest = 1, scene.clock.now() - 1

    for _ in range(20):
        with pytest.raises(TryLater, match="1 entries are on their way"):
            await scene.step()

    scene.stream.waiting, scene.stream.oldest = 0, None
    await scene.write()
    await scene.step()
    assert scene.phase == "swap"


async def test_beside_readers_that_stand_still_it_is_compared_now_and_then(scene: Scene) -> None:
    """A comparison sums up the whole index, so it does not run every second while no reader makes progress."""
    await scene.to_comparing()
    scene.stream.waiting, scene.stream.oldest = 1, scene.operation.result["announced_by"]
    compared = 0
    for _ in range(20 * 60):
        scene.clock.advance(MICROSECONDS)
        try:
            compared += (await scene.step()).waits
        except TryLater:
            continue

    assert scene.operation.result["rounds"] == 0
    assert compared == 11  # one after ten minutes of patience, then one in each of the other ten minutes

    await scene.write()
    scene.stream.waiting, scene.stream.oldest = 0, None
    await scene.step()
    assert scene.phase == "swap"


async def test_what_is_announced_again_is_published_and_taken_before_the_next_round(scene: Scene) -> None:
    await scene.to_comparing()
    await scene.step()
    assert (scene.phase, scene.operation.result["rounds"]) == ("compare", 1)
    entries = await scene.store.outbox.take(100)
    assert len(entries) == 3

    for _ in range(20):  # far more comparisons than it takes to announce a memory again
        scene.clock.advance(MICROSECONDS)
        with pytest.raises(TryLater, match="not published yet"):
            await scene.step()

    await scene.store.outbox.delete([each.id for each in entries])
    await scene.step()
    scene.stream.waiting, scene.stream.oldest = 3, scene.operation.result["announced_by"]
    with pytest.raises(TryLater, match="on their way"):
        await scene.step()
    assert scene.operation.result["rounds"] == 1

    scene.stream.waiting, scene.stream.oldest = 0, None
    await scene.write()
    await scene.step()
    assert scene.phase == "swap"


async def test_what_a_slow_clock_stores_all_the_time_does_not_count_as_lacking(
    scene: Scene, database: Database
) -> None:
    """Each comparison finds some memories that are still being written to both indexes, but none of them twice."""
    await scene.to_comparing()
    for number in range(20):
        await put(database, memory(f"slow {number}", now=scene.clock.now() - 3600 * MICROSECONDS))
        await scene.compare()
        if scene.phase != "compare":
            break
        await scene.write()

    assert scene.phase == "swap"
    assert scene.operation.result["failures"] == 0


async def test_what_is_lacking_again_and_again_is_told(scene: Scene) -> None:
    await scene.to_comparing()
    for _ in range(ROUNDS):
        await scene.compare()

    with pytest.raises(NeverRetry, match="3 memories can't be written into t-2"):
        await scene.compare()


async def test_a_swap_that_was_killed_in_the_middle_is_done_to_its_end(scene: Scene, database: Database) -> None:
    """Changes made while nobody could write the old index were not recorded; the process that resumes announces them
    too."""
    await to_swapping(scene, database)
    killed = scene.operation

    for _ in range(2):
        scene.operation = killed
        await scene.step()
        entries = await scene.store.outbox.take(100)
        assert len(entries) == 3
        await scene.store.outbox.delete([each.id for each in entries])


async def test_what_a_writer_took_that_did_not_know_yet_which_index_serves_is_announced_once_it_does(
    scene: Scene, database: Database
) -> None:
    """Until its lease ends, the writer believes the new index is still being built and does not record what it
    writes."""
    await to_swapping(scene, database)
    await scene.step()
    taken = await scene.store.outbox.take(100)
    await scene.store.outbox.delete([each.id for each in taken])
    with pytest.raises(TryLater, match="within seconds"):
        await scene.step()
    assert await scene.store.outbox.take(100) == []

    scene.clock.advance(round(LEASE_S * MICROSECONDS))
    await scene.step()

    assert scene.phase == "complete"
    assert len(await scene.store.outbox.take(100)) == len(taken) == 3


async def to_swapping(scene: Scene, database: Database) -> None:
    """Another version built the serving index, and the new index holds everything."""
    await database.write(
        lambda connection: (
            connection.exec_driver_sql("UPDATE index_generations SET builder = 'older' WHERE name = 't-1'").rowcount
        )
    )
    await scene.to_comparing()
    await scene.write()
    await scene.step()
    assert scene.phase == "swap"


@pytest.mark.parametrize("phase", ["begin", "known", "scan", "compare", "swap"])
async def test_what_another_version_began_to_build_is_begun_again(scene: Scene, database: Database, phase: str) -> None:
    """Nobody writes the index of a version that is gone: its operation would wait for ever."""
    await scene.write_until(phase)
    planned = {**scene.operation.result["generation"], "builder": "older"}
    scene.operation = replace(scene.operation, result={**scene.operation.result, "generation": planned})
    await database.write(
        lambda connection: (
            connection.exec_driver_sql("UPDATE index_generations SET builder = 'older' WHERE name = 't-2'").rowcount
        )
    )

    await scene.step()

    assert (scene.operation.result, scene.operation.done) == ({"phase": "plan"}, 0)
    assert [each.name for each in await scene.store.generations.generations(IndexKind.TEXT)] == ["t-1"]
    await scene.write_until("swap")
    await scene.step()
    serving = await scene.store.generations.serving(IndexKind.TEXT)
    assert serving is not None
    assert (serving.name, serving.builder) == ("t-2", scene.index.builder)


async def test_its_end_names_what_it_was_for(scene: Scene) -> None:
    request = {"index": "text", "org": "acme", "project": "shop"}
    began = {"phase": "complete", "began_at": scene.clock.now()}
    scene.operation = replace(scene.operation, id=str(uuid.UUID(int=1)), request=request, result=began)

    await scene.step()

    (event,) = [each for each in await scene.store.outbox.take(100) if each.stream == "reindex.completed"]
    told = orjson.loads(event.body)["data"]
    assert (told["org"], told["project"], told["failures"]) == ("acme", "shop", 0)
