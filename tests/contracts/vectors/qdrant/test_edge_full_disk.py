"""A full disk under the embedded vector index: it refuses writes and the process survives, unlike with the engine
alone."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.small_disk import fill, small_disk
from tests.support.waiting import PATIENCE_S

WRITER = """
import asyncio, sys
from pathlib import Path
from openbrain.adapters.local.disk_space import DiskSpace
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.domain.errors import TryLater
from tests.support.indexes.entries import EVERYTHING, direction, memory, vector_entry

async def main() -> None:
    folder = Path(sys.argv[1])
    index = QdrantEdgeVectors(folder, DiskSpace([folder], int(sys.argv[2])).for_index)
    await index.prepare("first", 256)
    vector = direction(1, *[0] * 255)
    refused = written = 0
    while not refused or not written:
        before = [vector_entry(memory(), vector) for _ in range(64)]
        try:
            await index.write("first", before)
        except TryLater as error:
            if not refused:
                print("refused", error, flush=True)
            refused, written = refused + 1, 0
            assert await index.search("first", vector, EVERYTHING, 5)
        else:
            written += 1
            if not refused:
                print("writing", flush=True)
    print("written", len(await index.read("first", [each.id for each in before])), flush=True)
    await index.close()

asyncio.run(main())
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 200) as mounted:
        yield mounted


def writer(disk: Path, reserve_mb: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(disk), str(reserve_mb)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_it_refuses_while_it_is_full_and_goes_on_when_there_is_room(disk: Path) -> None:
    with writer(disk, 128) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        # Leave room for one write: a write in progress when all space is used up at once can't be saved.
        fill(disk / "filler", leave_mb=64)
        said = ""
        while not said.startswith("refused"):
            said = process.stdout.readline()
            assert said, "it ended"
        assert "is full" in said
        fill(disk / "rest")
        (disk / "filler").unlink()
        (disk / "rest").unlink()
        assert process.stdout.readlines()[-1] == "written 64\n"
        assert process.wait(PATIENCE_S) == 0


def test_without_that_look_the_system_ends_the_process(disk: Path) -> None:
    """This shows why the free space is checked at all."""
    with writer(disk, 0) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        fill(disk / "filler")
        process.stdout.read()
        assert process.wait(PATIENCE_S) == -signal.SIGBUS
