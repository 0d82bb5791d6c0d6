"""What a restored database does not know any more is undone in the indexes."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.flow.conftest import started
from tests.flow.indexes.test_reconcile import filled, forget, settings, verified
from tests.support.waiting import until


@pytest.mark.parametrize("told_so", [True, False])
async def test_a_database_put_back_under_living_indexes(tmp_path: Path, told_so: bool) -> None:
    """A copy from an hour ago: what was edited, forgotten, restored and added since is undone in the indexes too."""
    folder = tmp_path / "data"
    async with started(settings(folder)) as brain:
        edited, forgotten, restored, kept, *_ = await filled(brain)
        await forget(brain, restored)
        await brain.settled()
    with closing(sqlite3.connect(folder / "truth.sqlite3")) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(folder / "truth.sqlite3", tmp_path / "backup")
    async with started(settings(folder)) as brain:
        for number in range(3):
            changed = {"content": f"The tram now leaves at {number}."}
            assert (await brain.http.patch(f"/v1/brain/memories/{edited}", json=changed)).status_code == 200
        await forget(brain, forgotten)
        await brain.http.post(f"/v1/brain/memories/{restored}:restore", json={})
        added = await brain.remember("A ferry that the backup does not know.")
        await brain.indexed(added)
        await brain.settled()
    for each in folder.glob("truth.sqlite3*"):
        each.unlink()
    shutil.copy(tmp_path / "backup", folder / "truth.sqlite3")
    async with started(settings(folder)) as brain:
        told = await verified(brain, repair=True, restored=told_so)
        assert not told["equal"] or told_so
        if told_so:
            assert told["lifted"] > 0
        await brain.settled()

        async def equal() -> bool:
            await brain.settled()
            return bool((await verified(brain, full=True, repair=True))["equal"])

        await until(equal)
        found = await brain.recalled("ferry number leaves at dawn", limit=20)
        assert {edited, forgotten, kept} <= set(found)
        assert not {restored, added} & set(found)
        await brain.http.post(f"/v1/brain/memories/{restored}:restore", json={})
        await brain.indexed(restored)
        assert restored in await brain.recalled("ferry number 2", limit=20)
