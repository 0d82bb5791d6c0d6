"""An import that its sender abandons ends, and reports what was stored; sent again, it continues."""

import orjson
import pytest

from openbrain.domain.errors import Conflict
from openbrain.domain.memory import MICROSECONDS
from tests.support.api.brain import Brain, http
from tests.support.api.transfer import NDJSON, admin, brain_database_url, export, lived, take_in

__all__ = ["brain_database_url"]


async def test_an_import_whose_sender_is_gone_ends_and_goes_on_when_it_is_sent_again(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        file = await export(source)
    lines = file.splitlines(keepends=True)
    async with http(brain.app(), await admin(brain, "w2")) as target:
        await take_in(target, b"".join(lines[:5]))
        brain.clock.advance(10 * MICROSECONDS)
        still = await brain.store.transfer.give_up_imports(brain.clock.now() - 20 * MICROSECONDS, 9)
        gone = await brain.store.transfer.give_up_imports(brain.clock.now() - 5 * MICROSECONDS, 9)
        (failed,) = await brain.store.operations.operations("w2", 9)
        nothing_left = await brain.store.transfer.give_up_imports(brain.clock.now(), 9)
        tried = await target.post("/v1/brain/import", params={"dry_run": 1}, content=file, headers=NDJSON)
        (as_before,) = await brain.store.operations.operations("w2", 9)
        whole = await take_in(target, file)
        (done,) = await brain.store.operations.operations("w2", 9)
        rows = len((await target.get("/v1/brain/list")).json()["memories"])

    assert (still, gone, nothing_left) == (0, 1, 0)
    assert (failed.status, failed.finished_at) == ("failed", brain.clock.now())
    assert "send it again" in failed.error
    assert failed.result["created"] == failed.done > 0, "it reports what was stored"
    assert tried.json()["exact"]
    assert as_before == failed, "a dry run begins nothing"
    assert (whole["exact"], whole["present"]) == (True, failed.result["created"])
    assert (done.status, done.error, done.id) == ("done", "", failed.id)
    assert done.result["present"] == failed.result["created"]
    assert done.done == sum(done.result.values())
    assert rows > 0


async def test_a_cancelled_import_ends_under_its_sender_and_without_one(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as source:
        await lived(brain, source)
        lines = (await export(source)).splitlines(keepends=True)
    export_id = orjson.loads(lines[0])["export_id"]
    async with http(brain.app(), await admin(brain, "w2")) as target:
        await take_in(target, b"".join(lines[:5]))
    (begun,) = await brain.store.operations.operations("w2", 9)
    await brain.store.operations.cancel_operation("w2", begun.id)
    with pytest.raises(Conflict, match="cancelled"):
        await brain.store.transfer.restoring_at("w2", export_id, {"created": 1})
    brain.clock.advance(MICROSECONDS)
    assert await brain.store.transfer.give_up_imports(brain.clock.now(), 9) == 1
    (ended,) = await brain.store.operations.operations("w2", 9)
    assert (ended.status, ended.error) == ("cancelled", "")
