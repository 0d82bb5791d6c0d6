"""A text index that hangs on searches by words, but answers for names, is left alone as well."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from openbrain.domain.access.visibility import AllOf
from openbrain_api.recall.indexes.breaker import TIMEOUTS_TO_OPEN
from openbrain_api.recall.indexes.index_search import Indexes, IndexQuery


class Text:
    """Hangs on words while `hangs`."""

    def __init__(self) -> None:
        self.hangs = True
        self.asked = 0

    async def named(self, *_: object) -> Sequence[str]:
        return ()

    async def search_many(self, _: str, searches: Sequence[object]) -> Sequence[Sequence[object]]:
        self.asked += 1
        if self.hangs:
            await asyncio.Event().wait()
        return [()] * len(searches)


class Serving:
    async def get(self, _: object) -> Any:
        return SimpleNamespace(name="text-1", lost_at=None)

    needed = get


async def _nothing(*_: object) -> None:
    """Read nothing ahead."""


async def test_answers_for_names_say_nothing_about_words() -> None:
    text = Text()
    indexes = Indexes(
        text=cast("Any", text),
        vectors=cast("Any", None),
        serving=cast("Any", Serving()),
        active_model=cast("Any", None),
        erasure_watch=cast("Any", None),
        query_encodings=cast("Any", None),
        timeout_s=0.01,
    )
    query = IndexQuery("what opens the safe", AllOf(()), 10, ("text",))

    for _ in range(TIMEOUTS_TO_OPEN + 3):
        names, hits = await asyncio.gather(indexes.named({0: query}, 5), indexes.search([query], _nothing))
        assert names == {0: []}
        assert hits[0].degraded == ("text",)

    assert text.asked == TIMEOUTS_TO_OPEN
