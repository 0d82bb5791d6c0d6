"""Ticks over HTTP: requested once per key, watched, and visible to nobody else."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.ids import uuid7
from openbrain.ports.store.vault import Tick
from tests.support.api.brain import Brain, http, refused


@pytest.fixture
def kept(brain: Brain, tmp_path: Path) -> Brain:
    """A brain whose workspaces w1 and w2 have vaults."""
    folders = {name: tmp_path / name for name in ("w1", "w2")}
    vaults = brain.settings.vaults.model_copy(update={"folders": folders})
    return dataclasses.replace(brain, settings=brain.settings.model_copy(update={"vaults": vaults}))


async def client(brain: Brain, workspace: str = "w1", **limits: Any) -> httpx.AsyncClient:
    return http(brain.app(), await brain.key(workspace, **limits))


async def test_a_tick_is_asked_for_once_a_key(kept: Brain) -> None:
    async with await client(kept) as asked:
        once = await asked.post("/tick", params={"no_ai": "true"}, headers={"Idempotency-Key": "k"})
        again = await asked.post("/tick", params={"no_ai": "true"}, headers={"Idempotency-Key": "k"})
        other = await asked.post("/tick")

    assert once.status_code == 202
    assert {"status": "pending", "dry_run": False, "no_ai": True}.items() <= once.json().items()
    assert once.json()["request_path"] == f"/tick/{once.json()['job_id']}"
    assert again.json()["job_id"] == once.json()["job_id"] != other.json()["job_id"]
    assert [each.stream for each in await kept.store.outbox.take(9)] == ["tick.requested", "tick.requested"]


async def test_keys_of_any_allowed_length_are_told_apart(kept: Brain) -> None:
    async with await client(kept) as asked:
        keys = ["x" * 200, "x" * 201, "x" * 254, "x" * 255, "x" * 255]
        answers = [await asked.post("/tick", headers={"Idempotency-Key": key}) for key in keys]

    assert [answer.status_code for answer in answers] == [202] * 5
    ids = [answer.json()["job_id"] for answer in answers]
    assert (len(set(ids)), ids[3]) == (4, ids[4])


async def test_a_tick_is_watched_until_it_ends(kept: Brain) -> None:
    async with await client(kept) as asked:
        job_id = (await asked.post("/tick", params={"dry_run": "true"})).json()["job_id"]
        before = await asked.get(f"/tick/{job_id}")
        await kept.store.ticks.hold_tick(job_id, "me", 30)
        await kept.store.ticks.finish_tick(job_id, "me", {"total_ms": 3, "diff": "+line"})
        after = await asked.get(f"/tick/{job_id}", params={"wait": "5"})

    assert (before.json()["status"], before.json()["report"], before.json()["slot"]) == ("pending", None, None)
    assert (after.json()["status"], after.json()["report"]) == ("completed", {"total_ms": 3, "diff": "+line"})


async def test_who_watches_is_told_that_it_was_put_off(kept: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, tick = asyncio.Event(), kept.store.ticks.tick

    async def looking(workspace_id: str, tick_id: str) -> Tick | None:
        found = await tick(workspace_id, tick_id)
        looked.set()
        return found

    monkeypatch.setattr(kept.store.ticks, "tick", looking)
    async with await client(kept) as asked:
        job_id = (await asked.post("/tick")).json()["job_id"]
        await kept.store.ticks.hold_tick(job_id, "me", 30)
        watched = asyncio.create_task(asked.get(f"/tick/{job_id}", params={"wait": "25"}))
        await looked.wait()
        await kept.store.ticks.put_off_tick(job_id, "me", 60, "the vault is away")
        told = await watched

    assert (told.json()["status"], told.json()["error"]) == ("pending", "the vault is away")


async def test_ticks_of_others_are_not_there(kept: Brain) -> None:
    async with await client(kept) as own, await client(kept, "w2") as other:
        job_id = (await own.post("/tick")).json()["job_id"]
        foreign = await other.get(f"/tick/{job_id}")
        unknown = await other.get(f"/tick/{uuid7(1)}")
        odd = await other.get("/tick/no-id")

    assert foreign.status_code == unknown.status_code == odd.status_code == 404
    assert foreign.content == unknown.content == odd.content


async def test_a_workspace_without_a_vault_has_no_ticks(brain: Brain) -> None:
    vaults = brain.settings.vaults.model_copy(update={"folders": {}})
    bare = dataclasses.replace(brain, settings=brain.settings.model_copy(update={"vaults": vaults}))
    async with await client(bare) as asked:
        refused(await asked.post("/tick"), 404)
        refused(await asked.get(f"/tick/{uuid7(1)}"), 404)


async def test_ticks_need_their_permission_and_a_whole_workspace(kept: Brain) -> None:
    async with await client(kept, permissions=frozenset({Permission.BRAIN_WRITE})) as reads:
        refused(await reads.post("/tick"), 403)
    async with await client(kept, orgs=("acme",)) as one_org:
        refused(await one_org.post("/tick"), 403)


async def test_the_client_asks_and_watches(kept: Brain) -> None:
    transport = httpx.ASGITransport(kept.app())
    async with OpenBrain("http://127.0.0.1", await kept.key("w1"), transport=transport) as client:
        asked = await client.request_tick(ai=False, extract=True, key="mine")
        tick = await client.tick(asked.job_id)

    assert (tick.status, tick.no_ai, tick.extract, tick.dry_run) == ("pending", True, True, False)
