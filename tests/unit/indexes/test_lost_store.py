"""If the database is gone but its indexes exist, no new brain is created unless explicitly requested."""

from pathlib import Path

import pytest

from openbrain.adapters.local.lost_store import INDEXES, refuse_lost, set_aside
from openbrain.domain.errors import SetupError
from openbrain.settings import Settings
from openbrain_cli.system.embedded.pipeline import running


def indexed(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name / "t-1").mkdir(parents=True)
    return folder / "truth.sqlite3"


@pytest.mark.parametrize("names", [INDEXES[:1], INDEXES[1:], INDEXES])
async def test_a_missing_database_is_told_with_every_way_out(tmp_path: Path, names: tuple[str, ...]) -> None:
    indexed(tmp_path, *names)

    with pytest.raises(SetupError) as told:
        async with running(Settings(_env_file=None, data_dir=tmp_path)):
            pass

    for word in ("truth.sqlite3 is missing", "backup.md", "--new", "--data", *names):
        assert word in str(told.value)
    assert {each.name for each in tmp_path.iterdir()} == {*names, "lock"}


def test_what_is_whole_or_new_begins(tmp_path: Path) -> None:
    refuse_lost(tmp_path, tmp_path / "truth.sqlite3")
    (tmp_path / "text").mkdir()  # as left by a start that ended before anything was indexed
    refuse_lost(tmp_path, tmp_path / "truth.sqlite3")
    database = indexed(tmp_path, *INDEXES)
    database.touch()
    refuse_lost(tmp_path, database)
    assert set_aside(tmp_path, database) == []


def test_indexes_set_aside_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        database = indexed(tmp_path, *INDEXES)
        set_aside(tmp_path, database)
        refuse_lost(tmp_path, database)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        *("text.aside-1", "text.aside-2", "vectors.aside-1", "vectors.aside-2"),
    ]
