"""An import has low priority: what is remembered while it runs is indexed before its rest. Order is
tested, not time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.access.visibility import Criteria
from openbrain.domain.access.visibility import everything as everything_of
from openbrain.domain.events.streams import REINDEX, STORED
from openbrain.domain.ids import uuid7
from openbrain.ports.models import Encoding
from openbrain.runtime.container import Container
from openbrain.settings import Housekeeping, Settings, Streams
from openbrain.settings.tuning import HousekeepingTuning, StreamTuning
from tests.flow.conftest import PATIENT, Brain, started
from tests.support.api.transfer import Line, as_file
from tests.support.embedder.handler import WithFaults
from tests.support.waiting import until

IMPORTED = 300
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


class Held(WithFaults):
    """The real model, which begins when the test says so: its speed relative to the import must not
    decide the order."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def encode(self, inputs: Sequence[str]) -> Sequence[Encoding]:
        await self.go.wait()
        return await super().encode(inputs)


class HeldParts(Container):
    """All other parts are the real ones."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, shared=True)

    @cached_property
    def embedder(self) -> Held:
        return Held()


@pytest.fixture
async def brain(tmp_path: Path) -> AsyncIterator[Brain]:
    # Old imports that wait this long would be announced again, and would be counted here.
    settings = Settings(
        data_dir=tmp_path / "data",
        streams=Streams(tuning=StreamTuning(poll_s=0.5, reap_s=0.2)),
        housekeeping=Housekeeping(tuning=HousekeepingTuning(reconcile_every_s=10_000)),
        recall=PATIENT,
    )
    async with started(settings, HeldParts) as begun:
        yield begun


@pytest.mark.slow("some hundred memories are imported, and each is embedded by the model")
async def test_live_memories_are_indexed_before_the_tail_of_an_import(brain: Brain) -> None:
    answer = await brain.http.post(
        "/v1/brain/import", content=file(), headers={"content-type": "application/x-ndjson"}, timeout=300
    )
    assert (answer.json()["created"], answer.json()["exact"]) == (IMPORTED, True), answer.text
    await until(lambda: _in_hand(brain, REINDEX.name, 1))
    live = [await brain.remember(f"The tide turned at {hour} o'clock.") for hour in range(5)]
    await until(lambda: _in_hand(brain, STORED.name, len(live)))
    assert isinstance(brain.container.embedder, Held)
    brain.container.embedder.go.set()

    async def all_of_them() -> bool:
        return all(row is not None for row in (await _indexed_at(brain)).values())

    await until(all_of_them, pause=0.2)

    at = {memory_id: when or 0 for memory_id, when in (await _indexed_at(brain)).items()}
    last = max(at[each] for each in live)
    behind = sum(when > last for when in at.values())
    assert behind > IMPORTED // 2, f"only {behind} of {IMPORTED} were indexed behind what came after them"
    assert len(await brain.entries(REINDEX.name)) == IMPORTED
    assert len(await brain.recalled("letters of year 200", top_k=5)) == 5


async def _in_hand(brain: Brain, stream: str, least: int) -> bool:
    """True if the embedder has read from this stream, and has at least this many entries pending or unread."""
    groups: Any = await brain.redis.xinfo_groups(stream)
    known = next(each for each in groups if each["name"] == b"embedder")
    return bool(known["pending"]) and known["pending"] + known["lag"] >= least


async def _indexed_at(brain: Brain) -> dict[str, int | None]:
    rows = await brain.container.store.transfer.kept(everything_of("default", Criteria()), 2 * IMPORTED)
    return {row.memory.id: row.memory.indexed_at for row in rows}
