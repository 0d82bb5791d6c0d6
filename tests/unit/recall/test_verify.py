"""Which rows a recall reads, and that the rows it skips could not have been in the answer."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.access.visibility import Criteria, Viewer
from openbrain.domain.memory import HALF_LIFE_DAYS, Memory
from openbrain.ports.store.memories import Memories
from openbrain_api.recall.hits.verify import SPARE, Candidates, verify
from openbrain_api.recall.order import RankedMemory, ordered
from openbrain_api.recall.question import Question
from tests.support.indexes.entries import memory

NOW = 1_750_000_000_000_000
WIDTH = 0.02
STATES = ("alive", "dead", "gone")


class Rows:
    """Rows by id, which record how many ids each read asked for."""

    def __init__(self, rows: Sequence[Memory]) -> None:
        self._rows = {row.id: row for row in rows}
        self.reads: list[int] = []

    async def rows(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        self.reads.append(len(ids))
        return {each: self._rows[each] for each in ids if each in self._rows}


def question(top_k: int) -> Question:
    return Question(query="x", top_k=top_k, viewer=Viewer(workspace_id="w", agent_id=""), criteria=Criteria())


def stand(rows: Rows, scores: Mapping[str, float], top_k: int) -> tuple[list[Memory], bool]:
    candidates = Candidates(scores, question(top_k), sees=lambda _: True, now=NOW, width=WIDTH)
    asyncio.run(verify([candidates], cast("Memories", cast("Any", rows))))
    return best(candidates.verified, top_k), candidates.dropped


def best(found: Sequence[RankedMemory], top_k: int) -> list[Memory]:
    in_order = ordered(found, now=NOW, width=WIDTH, half_life_days=HALF_LIFE_DAYS)
    return [each.memory for each in in_order[:top_k]]


candidates = st.lists(
    st.tuples(st.sampled_from((0.0, 0.1, 0.5, 0.51, 0.529, 0.9, 0.985, 1.0)), st.sampled_from(STATES)),
    max_size=40,
)


@given(some=candidates, top_k=st.integers(1, 12))
def test_what_is_read_decides_the_answer(some: list[tuple[float, str]], top_k: int) -> None:
    rows = [memory(deleted_at=1 if state == "dead" else None) for _, state in some]
    scores = {row.id: score for row, (score, _) in zip(rows, some, strict=True)}
    kept = [row for row, (_, state) in zip(rows, some, strict=True) if state != "gone"]
    living = [RankedMemory(row, scores[row.id]) for row in kept if row.deleted_at is None]
    # Both functions measure buckets from the best live score.
    answer, dropped = stand(Rows(kept), scores, top_k)

    assert answer == best(living, top_k)
    assert dropped or len(living) == len(some) or len(living) >= top_k


def test_one_read_where_none_is_dead() -> None:
    rows = [memory() for _ in range(100)]
    scores = {row.id: 1 - place / 100 for place, row in enumerate(rows)}
    store = Rows(rows)

    answer, dropped = stand(store, scores, 10)

    assert (len(answer), dropped) == (10, False)
    assert store.reads == [10 + SPARE], "the tenth is the last of its bucket"


def test_a_tie_at_the_end_is_read_whole_at_once() -> None:
    rows = [memory() for _ in range(60)]
    store = Rows(rows)

    stand(store, {row.id: 1.0 if place < 50 else 0.1 for place, row in enumerate(rows)}, 10)

    assert store.reads == [50 + SPARE]


@given(several=st.lists(st.tuples(candidates, st.integers(1, 12)), max_size=5))
def test_several_questions_stand_as_they_do_alone(several: list[tuple[list[tuple[float, str]], int]]) -> None:
    pool = {state: [memory(deleted_at=1 if state == "dead" else None) for _ in range(40)] for state in STATES}
    kept = Rows([row for state in STATES[:2] for row in pool[state]])
    scores = [{pool[state][place].id: score for place, (score, state) in enumerate(some)} for some, _ in several]
    together = [
        Candidates(each, question(top_k), sees=lambda _: True, now=NOW, width=WIDTH)
        for each, (_, top_k) in zip(scores, several, strict=True)
    ]

    asyncio.run(verify(together, cast("Memories", cast("Any", kept))))

    alone = [stand(kept, each, top_k) for each, (_, top_k) in zip(scores, several, strict=True)]
    assert [
        (best(each.verified, top_k), each.dropped) for each, (_, top_k) in zip(together, several, strict=True)
    ] == alone


def test_a_row_that_several_want_is_read_once() -> None:
    rows = [memory() for _ in range(40)]
    store = Rows(rows)
    scores = {row.id: 1 - place / 40 for place, row in enumerate(rows)}
    several = [Candidates(scores, question(10), sees=lambda _: True, now=NOW, width=WIDTH) for _ in range(5)]

    asyncio.run(verify(several, cast("Memories", cast("Any", store))))

    assert store.reads == [10 + SPARE]
