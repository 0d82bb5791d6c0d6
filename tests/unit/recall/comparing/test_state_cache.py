"""Token states are read once, those of the passages that a memory has now."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from openbrain_api.recall.comparing.state_cache import ENTRY_BYTES, StateCache

ONE, TWO, LONG, OLD = b"\1one", b"\1two", b"\1" + bytes(50), b"\0old"


class Vectors:
    """Some memories and the states of their inputs; records which were read."""

    def __init__(self) -> None:
        self.inputs_of: dict[str, list[str]] = {"a": ["1"], "b": ["1", "2"], "c": ["3"], "d": ["lost"]}
        self.states_of = {"1": ONE, "2": TWO, "3": LONG, "4": OLD}
        self.read: list[Sequence[str]] = []
        self.cache: StateCache | None = None

    async def inputs(self, ids: Sequence[str], _model: str) -> Mapping[str, Sequence[str]]:
        return {memory_id: self.inputs_of[memory_id] for memory_id in ids if memory_id in self.inputs_of}

    async def states(self, inputs: Sequence[str], model: str) -> Mapping[str, bytes]:
        self.read.append(inputs)
        if self.cache is not None:
            self.cache.clear()
        return {item: self.states_of[item] for item in inputs if item in self.states_of and model == "m"}


def caching(most_bytes: int = 4 * (ENTRY_BYTES + 10)) -> tuple[Vectors, StateCache]:
    vectors = Vectors()
    return vectors, StateCache(cast("Any", vectors), b"\1", most_bytes)


async def test_an_input_is_read_once_until_another_model_is_asked_for() -> None:
    vectors, cache = caching()

    assert await cache.of_memories(["a", "unknown"], "m") == {"a": [ONE]}
    assert await cache.of_memories(["a", "b"], "m") == {"a": [ONE], "b": [ONE, TWO]}
    assert await cache.of_memories(["b"], "m") == {"b": [ONE, TWO]}
    assert await cache.of_memories(["a"], "other") == {}
    assert await cache.of_memories(["a"], "m") == {"a": [ONE]}
    assert vectors.read == [["1"], ["2"], ["1"], ["1"]], "of one model at a time"


async def test_a_changed_memory_is_compared_by_what_it_says_now() -> None:
    vectors, cache = caching()
    await cache.of_memories(["a"], "m")
    vectors.inputs_of["a"] = ["2"]

    assert await cache.of_memories(["a"], "m") == {"a": [TWO]}
    del vectors.inputs_of["a"]
    assert await cache.of_memories(["a"], "m") == {}


async def test_what_has_no_states_yet_or_others_is_read_again() -> None:
    vectors, cache = caching()
    vectors.inputs_of["e"] = ["4"]
    assert await cache.of_memories(["d", "e"], "m") == {"e": [OLD]}
    vectors.states_of |= {"lost": ONE, "4": TWO}

    assert await cache.of_memories(["d", "e"], "m") == {"d": [ONE], "e": [TWO]}


async def test_no_more_is_kept_than_allowed() -> None:
    vectors, cache = caching(most_bytes=ENTRY_BYTES + 4)
    for _ in range(2):
        assert await cache.of_memories(["b", "c"], "m") == {"b": [ONE, TWO], "c": [LONG]}

    assert vectors.read == [["1", "2", "3"], ["1", "3"]]


async def test_what_was_read_before_an_erasure_is_not_kept() -> None:
    vectors, cache = caching()
    vectors.cache = cache
    assert await cache.of_memories(["a"], "m") == {"a": [ONE]}
    vectors.cache = None

    await cache.of_memories(["a"], "m")
    cache.clear()
    await cache.of_memories(["a"], "m")
    assert vectors.read == [["1"]] * 3


class ChangingVectors(Vectors):
    """While the inputs are read for another model, the first one is asked for again."""

    async def inputs(self, ids: Sequence[str], model: str) -> Mapping[str, Sequence[str]]:
        if model == "other" and self.cache is not None:
            cache, self.cache = self.cache, None
            await cache.of_memories(ids, "m")
        return await super().inputs(ids, model)


async def test_states_of_another_model_that_came_meanwhile_are_not_taken() -> None:
    vectors = ChangingVectors()
    vectors.cache = cache = StateCache(cast("Any", vectors), b"\1", 4 * (ENTRY_BYTES + 10))

    assert await cache.of_memories(["a"], "other") == {}
    assert vectors.read == [["1"]] * 2
