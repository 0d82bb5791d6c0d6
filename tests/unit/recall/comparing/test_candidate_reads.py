"""Each candidate's states and turn are read once."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import pytest

from openbrain.domain.access.visibility import AllOf, Equals
from openbrain.domain.errors import TryLater
from openbrain.ports.store.memories import Turn
from openbrain_api.recall.comparing.candidate_reads import CandidateReads

EVERYTHING, MINE = AllOf(()), AllOf((Equals("project", "mine"),))
TURN = Turn("chat", 3, 80)


class Store:
    """Tells what it was asked for; `a` has states, `t` is a turn."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.down = False

    async def of_memories(self, ids: Sequence[str], _model: str) -> Mapping[str, Sequence[bytes]]:
        self._ask(ids)
        return {memory_id: [b"1"] for memory_id in ids if memory_id == "a"}

    async def turns(self, ids: Sequence[str], _condition: AllOf, around: Collection[int] = ()) -> Mapping[str, Turn]:
        assert not around
        self._ask(ids)
        return {memory_id: TURN for memory_id in ids if memory_id == "t"}

    def _ask(self, ids: Sequence[str]) -> None:
        if self.down:
            raise TryLater("down for the test")
        self.asked.append(ids)


def reading() -> tuple[Store, CandidateReads]:
    store = Store()
    return store, CandidateReads(cast("Any", store), cast("Any", store))


async def test_states_are_read_once_for_each_model() -> None:
    store, reads = reading()

    assert await reads.states(["a", "b"], "one") == {"a": [b"1"], "b": ()}
    assert await reads.states(["b", "c", "a"], "one") == {"a": [b"1"], "b": (), "c": ()}
    assert await reads.states(["a", "c"], "one") == {"a": [b"1"], "c": ()}
    assert await reads.states(["a"], "other") == {"a": [b"1"]}
    assert store.asked == [["a", "b"], ["c"], ["a"]]


async def test_what_could_not_be_read_is_read_again() -> None:
    store, reads = reading()
    store.down = True
    with pytest.raises(TryLater):
        await reads.states(["a"], "one")
    with pytest.raises(TryLater):
        await reads.turns({0: (["t"], EVERYTHING)})
    store.down = False

    assert await reads.states(["a"], "one") == {"a": [b"1"]}
    assert await reads.turns({0: (["t"], EVERYTHING)}) == {0: {"t": TURN}}


async def test_turns_are_read_once_for_each_condition() -> None:
    store, reads = reading()

    assert await reads.turns({0: (["a", "t"], EVERYTHING), 1: (["b"], EVERYTHING)}) == {0: {"t": TURN}, 1: {}}
    assert await reads.turns({5: (["t", "c"], EVERYTHING), 6: (["t"], MINE)}) == {5: {"t": TURN}, 6: {"t": TURN}}
    assert store.asked == [["a", "t", "b"], ["c"], ["t"]]
