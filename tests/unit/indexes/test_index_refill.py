"""An index that can't be made yet is tried again in silence, and told once it is made."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from structlog.testing import capture_logs

from openbrain.domain.errors import IndexMissing, TryLater
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain_housekeeper.jobs.index_refill import IndexRefill
from openbrain_housekeeper.reconciliation.verification import Verifier

BUILDING = Generation(
    kind=IndexKind.VECTOR, name="v-1", model="m", dimensions=3, builder="b", status=GenerationStatus.BUILDING
)


class Missing:
    """No index, and none can be made while the disk is full."""

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


class Generations:
    async def generations(self) -> Sequence[Generation]:
        return [BUILDING]


class Store:
    generations = Generations()


async def test_a_missing_index_is_told_when_it_is_made() -> None:
    index = Missing()
    nothing = cast("Any", None)
    own = Verifier(cast("Any", Store()), {IndexKind.VECTOR: lambda: cast("Any", index)}, nothing, nothing, nothing)
    refill = IndexRefill(own, index.prepare)
    with capture_logs() as logs:
        for _ in range(3):
            await refill.round()
        assert logs == []
        index.full = False
        for _ in range(3):
            await refill.round()
    assert [(line["event"], line["index"]) for line in logs] == [("index.missing", "v-1")]
