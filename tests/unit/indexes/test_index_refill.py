"""A missing index: created and logged, retried silently while it can't be created, left alone if it was dropped."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from openbrain.domain.errors import IndexMissing, TryLater
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain_housekeeper.jobs import index_refill
from openbrain_housekeeper.jobs.index_refill import IndexRefill
from openbrain_housekeeper.reconciliation.verification import Verifier
from tests.support.store.fixtures import FakeClock

BUILDING = Generation(
    kind=IndexKind.VECTOR, name="v-1", model="m", dimensions=3, builder="b", status=GenerationStatus.BUILDING
)


class Missing:
    """The index is missing and can't be created while the disk is full."""

    builder = "b"

    def __init__(self) -> None:
        self.full = True
        self.made = False

    async def read(self, name: str, _: Sequence[str]) -> Mapping[str, Any]:
        if not self.made:
            raise IndexMissing(name)
        return {}

    async def prepare(self, _: Generation) -> None:
        if self.full:
            raise TryLater("the disk is full")
        self.made = True

    async def expose(self, _: str) -> None:
        """No other reader uses it."""


class Generations:
    def __init__(self, generation: Generation, dropped: bool) -> None:
        self._generation, self._dropped = generation, dropped

    async def generations(self, kind: IndexKind | None = None) -> Sequence[Generation]:
        """All generations the first time; with a kind, their state after the index was found missing."""
        retired = replace(self._generation, status=GenerationStatus.RETIRED)
        return [retired if kind and self._dropped else self._generation]

    async def lost(self, _: Generation) -> None:
        """It stays as it is."""


class Store:
    def __init__(self, generation: Generation, dropped: bool, marked: bool) -> None:
        self.generations = Generations(generation, dropped)
        self.index_marks = SimpleNamespace(any_marked=self._any_marked)
        self._marked = marked

    async def _any_marked(self, _: IndexKind) -> bool:
        return self._marked


def refilling(
    index: Missing, generation: Generation = BUILDING, *, dropped: bool = False, marked: bool = False
) -> IndexRefill:
    nothing, store = cast("Any", None), cast("Any", Store(generation, dropped, marked))
    own = Verifier(store, {IndexKind.VECTOR: lambda: cast("Any", index)}, nothing, nothing, nothing)
    return IndexRefill(own, index.prepare)


async def test_a_missing_index_is_told_when_it_is_made() -> None:
    index = Missing()
    refill = refilling(index)
    with capture_logs() as logs:
        for _ in range(3):
            await refill.round()
        assert logs == []
        index.full = False
        for _ in range(3):
            await refill.round()
    assert [(line["event"], line["index"]) for line in logs] == [("index.missing", "v-1")]


@pytest.mark.parametrize(
    ("epoch", "marked", "told"), [(0, False, []), (0, True, ["index.missing"]), (7, False, ["index.missing"])]
)
async def test_a_serving_index_that_was_never_filled_is_made_silently(
    epoch: int, marked: bool, told: Sequence[str]
) -> None:
    index = Missing()
    index.full = False
    serving = replace(BUILDING, status=GenerationStatus.SERVING, epoch=epoch)
    with capture_logs() as logs:
        await refilling(index, serving, marked=marked).round()
    assert index.made
    assert [line["event"] for line in logs] == told


async def test_an_index_that_was_dropped_meanwhile_is_not_made_anew() -> None:
    index = Missing()
    index.full = False
    await refilling(index, dropped=True).round()
    assert not index.made


class Emptied:
    """The index lost its entries, or its server does not answer."""

    builder = "b"

    def __init__(self, *, answers: bool = True) -> None:
        self._answers = answers

    async def read(self, _name: str, _: Sequence[str]) -> Mapping[str, Any]:
        if not self._answers:
            raise TryLater("it does not answer")
        return {}

    async def sums(self, _name: str) -> Mapping[int, Any]:
        raise TryLater("this test ends here")


class Lost:
    """Both indexes are recorded as lost."""

    def __init__(self, text_builder: str) -> None:
        vectors = replace(BUILDING, status=GenerationStatus.SERVING, epoch=5, lost_at=1)
        text = replace(vectors, kind=IndexKind.TEXT, name="t-1", builder=text_builder)
        self.generations = SimpleNamespace(generations=self._standing, lost=self._lost)
        self._both = [text, vectors]

    async def _standing(self, _kind: IndexKind | None = None) -> Sequence[Generation]:
        return self._both

    async def _lost(self, _: Generation) -> None:
        """It is recorded already."""


async def refilled(text: Emptied, text_builder: str) -> list[str]:
    """The indexes whose refill began."""
    vectors, nothing = Emptied(), cast("Any", None)
    indexes = {IndexKind.TEXT: lambda: cast("Any", text), IndexKind.VECTOR: lambda: cast("Any", vectors)}
    own = Verifier(cast("Any", Lost(text_builder)), indexes, nothing, FakeClock(), nothing)
    refill = IndexRefill(own, nothing)
    with capture_logs() as logs:
        for _ in range(3):
            with suppress(TryLater):
                await refill.round()
    return sorted({line["index"] for line in logs if line["event"] == "index.lost"})


async def test_a_lost_index_is_refilled_while_another_one_does_not_answer() -> None:
    assert await refilled(Emptied(answers=False), "b") == ["v-1"]


async def test_a_lost_index_of_another_builder_is_not_taken_for_filled() -> None:
    assert await refilled(Emptied(), "older") == ["v-1"]


async def test_a_lost_index_is_refilled_while_the_refill_of_another_fails() -> None:
    assert await refilled(Emptied(), "b") == ["t-1", "v-1"]


async def test_a_lost_index_is_refilled_while_the_refill_of_another_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text indexer is down, so that nothing takes what was announced."""
    filled = list[str]()

    async def pieces(_: IndexRefill, generation: Generation) -> AsyncIterator[bool]:
        while generation.kind is IndexKind.TEXT:
            yield True
        for _piece in range(2):
            yield False
        filled.append(generation.name)

    monkeypatch.setattr(IndexRefill, "_filled", pieces)
    indexes = {kind: lambda: cast("Any", Emptied()) for kind in IndexKind}
    nothing = cast("Any", None)
    refill = IndexRefill(Verifier(cast("Any", Lost("b")), indexes, nothing, FakeClock(), nothing), nothing)

    pauses = list[float]()
    while not filled and len(pauses) < 9:
        await refill.round()
        pauses.append(refill.pause_s)

    assert filled == ["v-1"]
    assert pauses == [index_refill.SHORT_S, index_refill.SHORT_S, index_refill.WAIT_S]
