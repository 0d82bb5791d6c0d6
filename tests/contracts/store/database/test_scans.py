"""Searches without an index let others use the database meanwhile, on every database."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.memories.reading import SCANS_AT_ONCE, SqlMemories
from openbrain.domain.access.visibility import AllOf, Equals
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import memory

EVERYTHING = AllOf((Equals("workspace_id", "w1"),))
Search = Callable[[SqlMemories], Any]


class Watched:
    """A database that records the highest number of concurrent reads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = self.most = 0

    async def read(self, work: Any) -> Any:
        self._reading += 1
        self.most = max(self.most, self._reading)
        try:
            return await self._database.read(work)
        finally:
            self._reading -= 1


@pytest.mark.parametrize(
    "search",
    [
        lambda reading: reading.keyword_hits(["redis"], EVERYTHING, 10),
        lambda reading: reading.counts(["type"], EVERYTHING, 5),
    ],
    ids=["keywords", "counts"],
)
async def test_a_storm_of_them_runs_a_few_at_once_and_all_are_answered(database: Database, search: Search) -> None:
    await put(database, memory("redis"))
    watched: Any = Watched(database)
    reading = SqlMemories(watched)

    answers = await asyncio.gather(*(search(reading) for _ in range(20)))

    assert watched.most == SCANS_AT_ONCE
    assert all(answer == answers[0] != [] for answer in answers)
