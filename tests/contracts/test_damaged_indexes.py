"""An embedded index with any damaged file is set aside, and an empty one is created."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from openbrain.adapters.indexes.seal import SEAL, Seal, break_seal, close_with_seal
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.adapters.tantivy import TantivyText
from tests.support.indexes.damages import DAMAGES, Damage, zeros
from tests.support.indexes.entries import direction, memory, text_entry, vector_entry

NAME = "first"
EAST = direction(1, 0, 0, 0)
KINDS = ("text", "vectors")


class Made:
    """An index of one kind with a few entries; `reopen` opens it as the next process does."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder / kind
        self.ids = [memory().id for _ in range(6)]

    @property
    def generation(self) -> Path:
        return self.folder / NAME

    async def reopen(self) -> Any:
        if self.kind == "text":
            text = TantivyText(self.folder, 1)
            await text.prepare(NAME)
            return text
        vectors = QdrantEdgeVectors(self.folder)
        await vectors.prepare(NAME, 4)
        return vectors

    async def fill(self, index: Any) -> None:
        rows = [memory(each) for each in self.ids]
        text = self.kind == "text"
        for row in rows:
            await index.write(NAME, [text_entry(row, "word") if text else vector_entry(row, EAST)])

    async def standing(self, index: Any) -> int:
        return len(await index.read(NAME, self.ids))

    def files(self) -> Iterator[Path]:
        for path in sorted(self.generation.rglob("*")):
            if path.is_file() and path.name != SEAL and path.suffix != ".lock":
                yield path

    def set_aside(self) -> list[Path]:
        return sorted(self.folder.glob(f"{NAME}.damaged-*"))


async def filled(kind: str, folder: Path) -> Made:
    made = Made(kind, folder)
    index = await made.reopen()
    await made.fill(index)
    await index.close()
    return made


@pytest.fixture(params=KINDS)
async def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    return await filled(request.param, tmp_path)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
async def test_after_a_clean_end_any_change_of_any_file_is_noticed(made: Made, damage: Damage) -> None:
    seal = (made.generation / SEAL).read_bytes()
    changed = 0
    for file in [*made.files()]:
        kept, before = file.with_name(f"{file.name}.lock"), file.read_bytes()
        shutil.copy2(file, kept)
        damage(file)
        if not file.exists() or file.read_bytes() != before:
            changed += 1
            assert break_seal(made.generation) is Seal.BROKEN, file
            (made.generation / SEAL).write_bytes(seal)
        kept.replace(file)
    assert changed > 5
    assert break_seal(made.generation) is Seal.WHOLE


async def test_a_copy_is_as_good_as_what_was_copied(made: Made, tmp_path: Path) -> None:
    """The copies have other times and no sparse holes."""
    copy = tmp_path / "copy"
    shutil.copytree(made.generation, copy, copy_function=shutil.copyfile)
    assert break_seal(copy) is Seal.WHOLE
    assert break_seal(copy) is Seal.MISSING, "once"
    close_with_seal(copy)
    assert break_seal(copy) is Seal.WHOLE


async def test_what_is_damaged_is_kept_and_an_empty_one_takes_its_place(made: Made) -> None:
    file = max(made.files(), key=lambda each: each.stat().st_size)
    zeros(file)
    damaged = {each.relative_to(made.generation): each.read_bytes() for each in made.files()}
    with capture_logs() as said:
        index = await made.reopen()
    assert await made.standing(index) == 0
    await made.fill(index)
    assert await made.standing(index) == len(made.ids)
    await index.close()
    (aside,) = made.set_aside()
    assert {each: (aside / each).read_bytes() for each in damaged} == damaged
    assert [each["aside"] for each in said if each["event"] == "start.damaged_set_aside"] == [str(aside)]

    index = await made.reopen()
    assert await made.standing(index) == len(made.ids), "the new one is whole"
    await index.close()
    assert made.set_aside() == [aside]


TELLING = {
    "text": ("*.store", "*.idx", "*.fast", "meta.json"),
    "vectors": ("**/payload_storage/page_0.dat", "**/chunk_0.mmap", "**/vectors/status.dat", "**/segment.json"),
}
"""Files whose damage loses entries, and for which the engine reports nothing, panics, or refuses."""


async def test_after_a_kill_it_starts_with_a_damaged_file(made: Made, tmp_path: Path) -> None:
    """Without a seal, the files themselves show the damage."""
    (made.generation / SEAL).unlink()
    for number, pattern in enumerate(TELLING[made.kind]):
        again = Made(made.kind, tmp_path / str(number))
        again.ids = made.ids
        shutil.copytree(made.generation, again.generation, copy_function=_sparse)
        zeros(next(again.generation.glob(pattern)))
        index = await again.reopen()
        assert len(again.set_aside()) == 1, pattern
        assert await again.standing(index) == 0
        await index.close()


@pytest.mark.parametrize("table", ["mappings", "versions"])
async def test_after_a_kill_lost_ids_are_noticed(tmp_path: Path, table: str) -> None:
    """The engine would open the segment without these entries."""
    made = await filled("vectors", tmp_path)
    (made.generation / SEAL).unlink()
    next(made.generation.rglob(f"*id_tracker.{table}")).unlink()
    index = await made.reopen()
    assert (await made.standing(index), len(made.set_aside())) == (0, 1)
    await index.close()


async def test_after_a_kill_before_the_first_flush_the_log_is_read(tmp_path: Path) -> None:
    """There is no id table yet."""
    made = Made("vectors", tmp_path / "killed")
    index = await made.reopen()
    await made.fill(index)
    copy = Made("vectors", tmp_path / "copy")
    copy.ids = made.ids
    shutil.copytree(made.generation, copy.generation, copy_function=_sparse)
    await index.close()
    again = await copy.reopen()
    assert (await copy.standing(again), copy.set_aside()) == (len(made.ids), [])
    await again.close()


async def test_a_copy_put_in_its_place_meanwhile_is_not_sealed_unseen(made: Made, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made.generation, copy)
    zeros(next(copy.glob(TELLING[made.kind][0])))
    index = await made.reopen()
    made.generation.rename(tmp_path / "former")
    copy.rename(made.generation)
    await index.close()

    assert break_seal(made.generation) is Seal.BROKEN, "its own seal shows the damage"


async def test_after_a_kill_a_whole_one_stays(made: Made) -> None:
    (made.generation / SEAL).unlink()
    index = await made.reopen()
    assert (await made.standing(index), made.set_aside()) == (len(made.ids), [])
    await index.close()


def _sparse(source: str, target: str) -> None:
    content = Path(source).read_bytes().rstrip(b"\0")
    Path(target).write_bytes(content)
    with Path(target).open("ab") as out:
        out.truncate(Path(source).stat().st_size)
