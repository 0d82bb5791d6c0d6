"""The embedded vector index inside one process: crashes, a second process, the event loop."""

import asyncio
import heapq
import json
import random
import signal
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from openbrain.adapters.qdrant_edge import vectors
from openbrain.adapters.qdrant_edge.vectors import SLICE, QdrantEdgeVectors
from openbrain.domain.access.visibility import AllOf, AtLeast, Equals
from openbrain.domain.errors import SetupError
from tests.support.indexes.entries import EVERYTHING, WORKSPACE, direction, memory, tombstone, vector_entry
from tests.support.waiting import PATIENCE_S

EAST = direction(1, 0, 0, 0)

WRITER = """
import asyncio, sys
from pathlib import Path
from openbrain.adapters.qdrant_edge import shard as qdrant_edge_shard
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from tests.support.indexes.entries import direction, memory, tombstone, vector_entry
from tests.support.waiting import PATIENCE_S

async def main() -> None:
    qdrant_edge_shard.FLUSH_POINTS = 200
    index = QdrantEdgeVectors(Path(sys.argv[1]))
    await index.prepare("first", 4)
    number = 0
    while True:
        kept, removed = memory(), memory()
        entry = vector_entry(removed, direction(1, 0, 0, 0), revision=1)
        await index.write("first", [entry, vector_entry(kept, direction(1, 0, 0, 0), revision=1 + number % 7)])
        await index.write("first", [tombstone(removed.id, revision=2)])
        print(kept.id, removed.id, 1 + number % 7, flush=True)
        number += 1

asyncio.run(main())
"""


async def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    """Kill the writer twice, before and after the log was flushed, each time during a write."""
    acknowledged: list[list[str]] = []
    for enough in (20, 300):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        acknowledged += [writer.stdout.readline().split() for _ in range(enough)]
        writer.send_signal(signal.SIGKILL)
        rest, _ = writer.communicate()
        acknowledged += [line.split() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 4)
    kept = await index.read("first", [one for one, _, _ in acknowledged])
    assert [kept[one].revision for one, _, _ in acknowledged] == [int(revision) for _, _, revision in acknowledged]
    removed = await index.read("first", [one for _, one, _ in acknowledged])
    assert all(removed[one].tombstone for _, one, _ in acknowledged)
    found = {hit.memory_id for hit in await index.search("first", EAST, EVERYTHING, 5000)}
    assert {one for one, _, _ in acknowledged} <= found
    await index.close()


async def test_a_second_process_is_told_why_not(tmp_path: Path) -> None:
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 4)
    second = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert "SetupError: the embedded vector index is open in another process" in second.stderr
    assert "OPENBRAIN_VECTORS__URL" in second.stderr
    await index.close()


async def test_what_a_crash_left_unfinished_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "first.unfinished" / "shard").mkdir(parents=True)
    (tmp_path / "first.unfinished" / "shard" / "edge_config.json").write_text("{")
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 4)
    assert await index.write("first", [vector_entry(memory(), EAST)]) == {}
    await index.close()
    assert [each.name for each in tmp_path.iterdir()] == ["first"]


async def test_another_builders_generation_is_refused(tmp_path: Path) -> None:
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 4)
    await index.close()
    (tmp_path / "first" / "generation.json").write_text(json.dumps({"builder": "qdrant-edge-0", "dimensions": 4}))
    with pytest.raises(SetupError, match=f"qdrant-edge-0.*{QdrantEdgeVectors.builder}"):
        await QdrantEdgeVectors(tmp_path).prepare("first", 4)


async def test_others_get_their_turn_during_a_write(tmp_path: Path) -> None:
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 4)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await index.write("first", [vector_entry(memory(), EAST) for _ in range(8 * SLICE)])
    counting.cancel()
    assert turns >= 8
    await index.close()


async def test_what_is_due_is_hidden_and_what_never_is_is_not(tmp_path: Path) -> None:
    """While no entry is due, the engine is not asked about expiry at all; the answers must not differ."""
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 4)
    forever, later, soon = memory(), memory(expires_at=300), memory(expires_at=200)
    await index.write("first", [vector_entry(row, EAST) for row in (forever, later, soon)])

    async def found(now: int) -> set[str]:
        condition = AllOf((Equals("workspace_id", WORKSPACE), AtLeast("expires_at", now + 1)))
        return {hit.memory_id for hit in await index.search("first", EAST, condition, 10)}

    assert await found(199) == {forever.id, later.id, soon.id}
    assert await found(200) == {forever.id, later.id}
    assert await found(300) == {forever.id}
    await index.write("first", [tombstone(later.id, revision=2), tombstone(soon.id, revision=2)])
    assert await found(300) == {forever.id}
    meanwhile = memory(expires_at=350)
    await index.write("first", [vector_entry(meanwhile, EAST)])
    assert await found(349) == {forever.id, meanwhile.id}
    assert await found(350) == {forever.id}
    await index.close()


async def test_too_many_points_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MANY", 1)
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 4)
    await index.write("first", [vector_entry(memory(), EAST)])
    assert (await index.check()).problems == ()
    await index.write("first", [vector_entry(memory(), EAST)])
    assert "Qdrant server" in (await index.check()).problems[0]
    await index.close()


async def test_what_is_scanned_in_few_bits_finds_what_whole_vectors_find(tmp_path: Path) -> None:
    """Among entries that were replaced, removed or filtered out, and after the index was reopened."""
    chance = random.Random(20_261_125)

    def near(centre: "array[float]") -> "array[float]":
        return direction(*(each + chance.gauss(0, 0.05) for each in centre))

    centres = [direction(*(chance.gauss(0, 1) for _ in range(64))) for _ in range(12)]
    rows = [memory(project="shop" if number % 3 else "other") for number in range(1_500)]
    written = {row.id: near(centres[number % 12]) for number, row in enumerate(rows)}
    index = QdrantEdgeVectors(tmp_path)
    await index.prepare("first", 64)
    await index.write("first", [vector_entry(row, near(centres[0]), revision=1) for row in rows[:500]])
    await index.write("first", [vector_entry(row, written[row.id], revision=2) for row in rows])
    await index.write("first", [tombstone(row.id, revision=3) for row in rows[::7]])
    await index.close()
    living = [row for number, row in enumerate(rows) if number % 7 and row.project == "shop"]
    condition = AllOf((Equals("workspace_id", WORKSPACE), Equals("project", "shop")))

    for wanted in (3, 100):
        for centre in centres:
            question = near(centre)
            scores = {row.id: sum(map(float.__mul__, question, written[row.id])) for row in living}
            hits = await index.search("first", question, condition, wanted)
            best = heapq.nlargest(wanted, scores.items(), key=lambda pair: pair[1])
            assert len({hit.memory_id for hit in hits} & {memory_id for memory_id, _ in best}) >= 0.99 * wanted
            assert [hit.score for hit in hits] == pytest.approx([scores[hit.memory_id] for hit in hits], abs=1e-5)
    await index.close()
