"""What only the embedded text index guarantees: one owner, and acknowledged entries that are on disk."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tantivy import Index, SchemaBuilder

from openbrain.adapters.tantivy import TantivyText, generation, removed_entries
from openbrain.domain.errors import SetupError, TryLater
from openbrain.ports.index import TextIndex
from tests.servers.places import ROOT
from tests.support.indexes.entries import EVERYTHING, memory, new_id, text_entry, tombstone
from tests.support.waiting import PATIENCE_S

NAME = "text-1"
PROGRAM = """
import asyncio, resource, sys
from pathlib import Path
from openbrain.adapters.tantivy import TantivyText
from openbrain.domain.errors import OpenBrainError
from tests.support.indexes.entries import EVERYTHING, memory, text_entry, tombstone
index = TantivyText(Path(sys.argv[1]), commit_ms=20)
"""
WRITE_ON = """
async def writer(number):
    while True:
        rows = [memory() for _ in range(number + 1)]
        await index.write("text-1", [text_entry(row, "ferry") for row in rows])
        await index.write("text-1", [tombstone(rows[0].id, revision=2)])
        print(*(row.id for row in rows), flush=True)

async def main():
    await index.prepare("text-1")
    await asyncio.gather(*(writer(number) for number in range(4)))

asyncio.run(main())
"""
PREPARE = """
async def main():
    try:
        await index.prepare("text-1")
        print("prepared", flush=True)
        sys.stdin.read()
    except OpenBrainError as error:
        print(type(error).__name__, error, flush=True)
    await index.close()

asyncio.run(main())
"""
FULL_DISK = """
async def main():
    await index.prepare("text-1")
    assert await index.write("text-1", [text_entry(memory(), "first")]) == {}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for _ in range(2):
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
        try:
            await index.write("text-1", [text_entry(memory(), "lost")])
        except OpenBrainError as error:
            told = error
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        print(type(told).__name__, flush=True)
    assert await index.write("text-1", [text_entry(memory(), "last")]) == {}
    print(len(await index.search("text-1", "first last", EVERYTHING, 9)), flush=True)
    print(len(await index.search("text-1", "lost", EVERYTHING, 9)), flush=True)
    await index.close()

asyncio.run(main())
"""


def process(code: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[TextIndex]:
    index = TantivyText(tmp_path, commit_ms=20)
    yield index
    await index.close()


async def test_what_nobody_waits_for_ends_before_the_index_closes(
    index: TextIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def unclean(*given: Any) -> Any:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return removed_entries.unclean(*given)

    monkeypatch.setattr(generation, "unclean", unclean)
    await index.prepare(NAME)
    scrubbed = asyncio.create_task(index.scrub(NAME, None))
    assert await asyncio.to_thread(begun.wait, PATIENCE_S)
    closed = asyncio.create_task(index.close())

    early, _ = await asyncio.wait({closed}, timeout=0.1)
    go_on.set()
    await asyncio.gather(scrubbed, closed)

    assert early == set()


async def test_after_a_kill_all_that_was_acknowledged_is_there(index: TextIndex, tmp_path: Path) -> None:
    with process(WRITE_ON, tmp_path) as writer:
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline().split() for _ in range(40)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += [line.split() for line in writer.stdout.read().splitlines(keepends=True) if line[-1] == "\n"]

    await index.prepare(NAME)

    removed = {ids[0] for ids in acknowledged}
    alive = {each for ids in acknowledged for each in ids[1:]}
    assert {each.id for each in (await index.read(NAME, [*removed])).values() if each.tombstone} == removed
    found = {hit.memory_id for hit in await index.search(NAME, "ferry", EVERYTHING, 100_000)}
    assert alive <= found
    assert not removed & found
    row = memory()
    assert await index.write(NAME, [text_entry(row, "boat")]) == {}
    assert [hit.memory_id for hit in await index.search(NAME, "boat", EVERYTHING, 9)] == [row.id]


async def test_a_second_process_is_refused_and_told_what_to_do(index: TextIndex, tmp_path: Path) -> None:
    await index.prepare(NAME)

    with process(PREPARE, tmp_path) as second:
        told, _ = second.communicate()

    assert told.startswith("SetupError")
    assert "belongs to another process" in told
    assert "OPENBRAIN_TEXT__URL" in told


async def test_of_two_processes_that_make_it_at_once_one_has_it(tmp_path: Path) -> None:
    with process(PREPARE, tmp_path) as one, process(PREPARE, tmp_path) as other:
        assert one.stdout is not None
        assert other.stdout is not None
        told = await asyncio.gather(*(asyncio.to_thread(each.stdout.readline) for each in (one, other) if each.stdout))
        one.communicate()
        other.communicate()

    assert sorted(line.split()[0] for line in told) == ["SetupError", "prepared"]


async def test_a_disk_that_refuses_is_told_and_recovers(tmp_path: Path) -> None:
    with process(FULL_DISK, tmp_path) as full:
        told, _ = full.communicate()

    assert told.split() == ["TryLater", "TryLater", "2", "0"]


async def test_closing_gives_the_index_to_the_next(tmp_path: Path) -> None:
    row = memory()
    first = TantivyText(tmp_path, commit_ms=20)
    await first.prepare(NAME)
    await first.write(NAME, [text_entry(row, "ferry")])
    await first.close()
    with pytest.raises(TryLater):
        await first.search(NAME, "ferry", EVERYTHING, 9)

    second = TantivyText(tmp_path, commit_ms=20)
    await second.prepare(NAME)

    assert [hit.memory_id for hit in await second.search(NAME, "ferry", EVERYTHING, 9)] == [row.id]
    await second.close()


async def test_what_is_no_index_of_ours_is_refused(index: TextIndex, tmp_path: Path) -> None:
    """The index may be another version's and still needed, so it is not set aside."""
    (tmp_path / NAME).mkdir()
    Index(SchemaBuilder().build(), str(tmp_path / NAME))

    with pytest.raises(SetupError, match="move the folder away"):
        await index.prepare(NAME)
    assert [each.name for each in tmp_path.iterdir()] == [NAME]


async def test_a_writer_that_gives_up_hurts_nobody(index: TextIndex) -> None:
    await index.prepare(NAME)
    row = memory()
    impatient = [asyncio.ensure_future(index.write(NAME, [tombstone(new_id(), revision=1)])) for _ in range(5)]
    await asyncio.sleep(0)
    for each in impatient:
        each.cancel()

    assert await index.write(NAME, [text_entry(row, "ferry")]) == {}
    assert [hit.memory_id for hit in await index.search(NAME, "ferry", EVERYTHING, 9)] == [row.id]
    await asyncio.gather(*impatient, return_exceptions=True)


async def test_a_tombstone_that_is_written_again_stays_as_old_as_it_is(tmp_path: Path) -> None:
    """Otherwise an index that is cleaned would keep all its tombstones for ever."""
    index = TantivyText(tmp_path, commit_ms=1)
    await index.prepare(NAME)
    rewritten, old = memory(), tombstone(new_id(), revision=2)._replace(at=1_000)
    await index.write(NAME, [text_entry(rewritten, "ferry"), old])
    await index.write(NAME, [tombstone(rewritten.id, revision=2)])

    done = await index.scrub(NAME)

    assert done.parts == ()
    assert (await index.read(NAME, [old.id]))[old.id].tombstone
    assert await index.drop_tombstones(NAME, 2_000) == 1
    await index.close()


async def test_what_nobody_waits_for_does_not_begin_after_the_index_closed(tmp_path: Path) -> None:
    """A job that was broken off leaves its thread behind; its write would look like damage at the next start."""
    index = TantivyText(tmp_path, commit_ms=1)
    await index.prepare(NAME)
    await index.write(NAME, [text_entry(memory(), "ferry"), tombstone(new_id(), revision=2)._replace(at=1_000)])
    opened = index._open[NAME].generation
    await index.close()
    with pytest.raises(TryLater):
        opened.drop_tombstones(2_000)

    await index.prepare(NAME)
    assert [folder.name for folder in tmp_path.iterdir()] == [NAME], "nothing was set aside as damaged"
    assert len(await index.search(NAME, "ferry", EVERYTHING, 9)) == 1
    await index.close()
