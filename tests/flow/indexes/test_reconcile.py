"""Whatever the stream server or an index loses is restored by reconciliation."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.ids import bucket, uuid7
from openbrain.observability import metrics
from openbrain.ports.index import Tombstone
from openbrain.ports.store.index_entries import VERIFY
from openbrain.ports.store.operations import Operation
from openbrain.settings import Housekeeping, Settings, Streams
from openbrain.settings.tuning import StreamTuning
from openbrain.usecases.auth import OPERATORS
from openbrain.usecases.indexes.index_loss import epoch_of
from openbrain_indexer.handlers.text import text_entry
from openbrain_indexer.handlers.vectors import vector_entries
from tests.flow.conftest import PATIENT, Brain, started, workspace_name
from tests.support.processes.settings import group_of
from tests.support.waiting import until

NEVER_S = 10_000.0
"""An interval so long that the job does not run in a test."""


def settings(folder: Path, **housekeeping: float) -> Settings:
    given = {"grace_s": 0.5, "reconcile_every_s": NEVER_S, "verify_every_s": NEVER_S, **housekeeping}
    return Settings(
        data_dir=folder,
        streams=Streams(tuning=StreamTuning(poll_s=0.2, reap_s=0.2)),
        housekeeping=group_of(Housekeeping, **given),
        recall=PATIENT,
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def uncompared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Brain]:
    """A system that compares nothing unless asked to. Both indexes have their epoch, a tombstone that is written
    once."""
    async with started(settings(tmp_path_factory.mktemp("quiet") / "data")) as begun:
        parts = begun.container

        async def dated() -> bool:
            indexes = zip((parts.text, parts.vectors), await names(begun), strict=True)
            return all([await epoch_of(index, name) for index, name in indexes])

        await until(dated)
        yield begun


@pytest_asyncio.fixture(loop_scope="module")
async def quiet(uncompared: Brain, request: pytest.FixtureRequest) -> AsyncIterator[Brain]:
    """A workspace in it; both indexes are equal, without a tombstone, and must be left that way."""
    async with uncompared.tenant(workspace_name(request)) as brain:
        for index, name in zip((brain.container.text, brain.container.vectors), await names(brain), strict=True):
            await index.drop_tombstones(name, brain.container.clock.now() + 1)
        yield brain


async def verified(brain: Brain, **request: bool) -> dict[str, Any]:
    """Run one `verify` operation; return its result."""
    operation = Operation(
        id=uuid7(brain.container.clock.now()), workspace_id=OPERATORS, kind=VERIFY, actor="test", request=request
    )
    await brain.container.store.operations.start_operation(operation)

    async def ended() -> bool:
        found = await brain.container.store.operations.operation(OPERATORS, operation.id)
        return found is not None and found.status.ended

    await until(ended)
    found = await brain.container.store.operations.operation(OPERATORS, operation.id)
    assert found is not None
    assert not found.error, found.error
    return dict(found.result)


def faults(told: dict[str, Any], kind: str) -> dict[str, int]:
    """The counts of the faults that were found, by name."""
    (index,) = [each for each in told["indexes"] if each["kind"] == kind]
    return {name: count for name, count in index["faults"].items() if count}


async def filled(brain: Brain, count: int = 5, word: str = "ferry") -> list[str]:
    ids = [await brain.remember(f"The {word} number {number} leaves at dawn.") for number in range(count)]
    for each in ids:
        await brain.indexed(each)
    await brain.settled()
    return ids


async def forget(brain: Brain, memory_id: str) -> None:
    answer = await brain.http.delete(f"/v1/brain/memories/{memory_id}")
    assert answer.status_code == 200, answer.text


async def names(brain: Brain) -> tuple[str, str]:
    return (await brain.container.text_generation()).name, (await brain.container.existing_vector_generation()).name


async def erased_from(brain: Brain, memory_id: str) -> None:
    """Remove a memory from both indexes, whatever revision they had."""
    text, vectors = await names(brain)
    await buried(brain, memory_id)
    assert await brain.container.text.drop_tombstones(text, 2) == 1
    assert await brain.container.vectors.drop_tombstones(vectors, 2) == 1


async def buried(brain: Brain, memory_id: str) -> None:
    """Put an old tombstone into both indexes in place of a live memory."""
    gone = Tombstone(id=memory_id, memory_id=memory_id, revision=1, bucket=bucket(memory_id), at=1)
    text, vectors = await names(brain)
    assert await brain.container.text.write(text, [gone]) == {}
    assert await brain.container.vectors.write(vectors, [gone]) == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_equal_indexes_are_told_equal(quiet: Brain) -> None:
    before = await verified(quiet, full=True)
    ids = await filled(quiet)
    await forget(quiet, ids[0])
    await quiet.settled()

    told = await verified(quiet, full=True)

    assert told["equal"], told
    assert _more(before, told, "rows") == [4, 4]
    assert _more(before, told, "entries") == [4, 4]
    assert _more(before, told, "tombstones") == [1, 1]


def _more(before: dict[str, Any], after: dict[str, Any], what: str) -> list[int]:
    """By how much this number has grown in each index."""
    return [now[what] - was[what] for was, now in zip(before["indexes"], after["indexes"], strict=True)]


@pytest.mark.asyncio(loop_scope="module")
async def test_what_an_index_lost_is_found_and_written_again(quiet: Brain) -> None:
    lost, *_ = await filled(quiet)
    await erased_from(quiet, lost)

    told = await verified(quiet)
    assert (told["equal"], told["repaired"]) == (False, 0)
    assert faults(told, "text") == faults(told, "vector") == {"missing": 1}

    told = await verified(quiet, repair=True)
    # What is announced for one index is read for the other too, so the other may be equal before it is compared.
    assert told["repaired"] == told["differences"] in (1, 2)
    await quiet.settled()
    assert (await verified(quiet, full=True))["equal"]
    assert lost in await quiet.recalled("ferry number 0")


@pytest.mark.asyncio(loop_scope="module")
async def test_ghosts_are_removed(quiet: Brain) -> None:
    """Entries of a forgotten memory, and of one that no database knows."""
    forgotten, template, *_ = await filled(quiet)
    text, vectors = await names(quiet)
    await forget(quiet, forgotten)
    await quiet.settled()
    unknown = uuid7(quiet.container.clock.now())
    await plant(quiet, forgotten, revision=2, like=template)
    await plant(quiet, unknown, revision=7, like=template)

    told = await verified(quiet, repair=True)

    assert faults(told, "text") == faults(told, "vector") == {"ghost": 2}
    for index, name in ((quiet.container.text, text), (quiet.container.vectors, vectors)):
        found = await index.read(name, [forgotten, unknown])
        assert [found[each].tombstone for each in (forgotten, unknown)] == [True, True]
    await quiet.settled()
    assert (await verified(quiet, full=True))["equal"]


async def plant(brain: Brain, memory_id: str, *, revision: int, like: str) -> None:
    """Write entries as a projector would have made them of such a row."""
    store, (text, vectors) = brain.container.store, await names(brain)
    row = (await store.memories.rows([like]))[like]
    generation = await brain.container.existing_vector_generation()
    passages = (await store.vectors.passages([like], generation.model))[like]
    false = row._replace(id=memory_id, revision=revision)
    await brain.container.text.write(text, [text_entry(false, "x")])
    await brain.container.vectors.write(vectors, vector_entries(false, replace(passages, revision=revision), "x"))


@pytest.mark.asyncio(loop_scope="module")
async def test_stale_entries_are_written_again(quiet: Brain) -> None:
    """An entry of the right revision with other contents, as after a database was restored and used again."""
    stale, template, *_ = await filled(quiet)
    await plant(quiet, stale, revision=1, like=template)

    told = await verified(quiet)
    assert faults(told, "text") == faults(told, "vector") == {"stale": 1}

    await verified(quiet, repair=True)
    await quiet.settled()
    assert (await verified(quiet, full=True))["equal"]


@pytest.mark.asyncio(loop_scope="module")
async def test_old_tombstones_go_and_nothing_comes_back(quiet: Brain) -> None:
    """A late event reads the database: it can't bring a memory back, with or without a tombstone."""
    gone, *_ = await filled(quiet)
    await forget(quiet, gone)
    await quiet.settled()
    later = quiet.container.clock.now() + 1
    text, vectors = await names(quiet)
    for index, name in ((quiet.container.text, text), (quiet.container.vectors, vectors)):
        assert await index.drop_tombstones(name, later) == 1
    await quiet.container.store.outbox.announce_again([gone])
    await quiet.settled()
    assert (await verified(quiet, full=True))["equal"]
    assert gone not in await quiet.recalled("ferry number 0")


async def test_a_flushed_stream_server_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FLUSHALL during traffic: everything acknowledged is indexed unattended, and is in the inbox of each subscriber
    once."""
    monkeypatch.setattr("openbrain.adapters.sql.outbox.match_queue.EVENT_GRACE", 0)
    async with started(settings(tmp_path / "data", reconcile_every_s=0.3)) as brain:
        first = await filled(brain)
        await brain.post("/v1/brain/subscriptions", {"agent_id": "bo", "filter": {"min_confidence": 0}}, 201)
        acknowledged: list[str] = []

        async def write(start: int) -> None:
            for number in range(start, start + 40):
                one = await brain.remember(f"Note {number}: the harbour master counts boats.")
                acknowledged.append(one)

        writers = [asyncio.create_task(write(start)) for start in (0, 100, 200)]
        for _ in range(3):
            await asyncio.sleep(0.05)
            await brain.redis.flushall()
        await asyncio.gather(*writers)
        await brain.http.patch(f"/v1/brain/memories/{first[0]}", json={"tags": ["changed"]})
        await forget(brain, first[1])
        await brain.redis.flushall()

        async def all_indexed() -> bool:
            rows = await brain.container.store.memories.rows([*first, *acknowledged])
            return all(row.text_revision == row.vector_revision == row.revision for row in rows.values())

        async def all_heard() -> bool:
            matches = await brain.container.store.messages.inbox(Viewer("default", "bo"), 1000)
            heard = [each.memory_id for each in matches if each.withdrawn_at is None]
            assert len(heard) == len(set(heard))
            return set(acknowledged) <= set(heard)

        await until(all_indexed)
        await until(all_heard)
        await brain.settled()
        told = await verified(brain, full=True)
        assert told["equal"], told


async def test_an_erased_memory_is_purged_though_the_streams_are_lost(tmp_path: Path) -> None:
    """An operation that waits for the indexes is completed."""
    async with started(settings(tmp_path / "data", reconcile_every_s=0.3)) as brain:
        ids = await filled(brain)
        await brain.redis.flushall()
        answer = await brain.http.request("DELETE", f"/v1/brain/memories/{ids[0]}", params={"erase": "1"})
        assert answer.status_code in (200, 202), answer.text
        await brain.redis.flushall()

        async def purged() -> bool:
            found = await brain.container.store.operations.operations("default", 10, kinds=["purge"])
            return bool(found) and all(each.status.ended for each in found)

        await until(purged)


async def test_the_duty_heals_an_index_by_itself(tmp_path: Path) -> None:
    async with started(settings(tmp_path / "data", verify_every_s=0.5, grace_s=0.2)) as brain:
        lost, *_ = await filled(brain)
        # Whichever index is compared first: what is announced for it repairs the other too.
        found = [metrics.RECONCILE_DIFFERENCES.labels(kind, "missing")._value for kind in ("text", "vector")]
        before = sum(each.get() for each in found)
        await buried(brain, lost)

        async def back() -> bool:
            return sum(each.get() for each in found) > before and lost in await brain.recalled("ferry number 0")

        await until(back)
