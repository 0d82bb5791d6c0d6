"""An import waits: what is remembered while it is on its way is indexed before its tail. Order is counted, not time."""

from openbrain.ids import uuid7
from openbrain.streams.table import REINDEX
from openbrain.visibility import Criteria
from openbrain.visibility import everything as everything_of
from tests.flow.conftest import Brain
from tests.transfer_support import Line, as_file
from tests.waiting import until

IMPORTED = 1500
AT = dict.fromkeys(("occurred_at", "confirmed_at", "created_at", "updated_at"), "2026-01-31T00:00:00Z")


def file() -> bytes:
    header: Line = {
        "kind": "header",
        "format": "openbrain-export",
        "format_version": 1,
        "export_id": uuid7(0),
        "exported_at": "2026-02-01T00:00:00Z",
        "workspace_id": "elsewhere",
    }
    memory: Line = {"kind": "memory", "type": "fact", "memory_scope": "project", **AT}
    texts = (f"shelf {number} of the archive holds the letters of year {number}" for number in range(IMPORTED))
    return as_file([header, *({**memory, "id": uuid7(number), "content": text} for number, text in enumerate(texts))])


async def test_live_memories_are_indexed_before_the_tail_of_an_import(brain: Brain) -> None:
    answer = await brain.http.post(
        "/v1/brain/import", content=file(), headers={"content-type": "application/x-ndjson"}, timeout=300
    )
    assert (answer.json()["created"], answer.json()["exact"]) == (IMPORTED, True), answer.text
    live = [await brain.remember(f"The tide turned at {hour} o'clock.") for hour in range(5)]

    async def all_live() -> bool:
        rows = await brain.parts.truth.rows(live)
        return all(row.indexed for row in rows.values())

    async def all_of_them() -> bool:
        return not await _unindexed(brain)

    await until(all_live)
    left = await _unindexed(brain)
    await until(all_of_them, pause=0.2)

    assert left > IMPORTED // 5, f"only {left} of {IMPORTED} were still on their way"
    assert len(await brain.entries(REINDEX.name)) == IMPORTED
    assert len(await brain.recalled("letters of year 1400", top_k=5)) == 5


async def _unindexed(brain: Brain) -> int:
    rows = await brain.parts.truth.kept(everything_of("default", Criteria()), 2 * IMPORTED)
    return sum(not row.memory.indexed for row in rows)
