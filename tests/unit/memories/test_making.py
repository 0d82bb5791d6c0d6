"""Frozen values by the quick way: the same values, as frozen."""

from dataclasses import FrozenInstanceError, astuple, dataclass, field

import pytest

from openbrain.domain.fast_frozen import fast_constructor, positional_constructor
from openbrain.domain.memory import Memory, MemoryType
from openbrain.ports.index import Tombstone


def test_gives_what_the_constructor_gives() -> None:
    given = {"id": "a", "workspace_id": "w", "content": "c", "type": MemoryType.FACT, "tags": ("x",)}

    quick = fast_constructor(Memory)(**given)  # type: ignore[arg-type]

    assert quick == Memory(**given)  # type: ignore[arg-type]
    assert type(quick) is Memory
    assert hash(Tombstone(id="a", memory_id="a", revision=1, bucket=2)) == hash(
        fast_constructor(Tombstone)(id="a", memory_id="a", revision=1, bucket=2)
    )


def test_is_frozen_and_shares_no_default() -> None:
    make = fast_constructor(Memory)
    one, other = (make(id=each, workspace_id="w", content="c", type=MemoryType.FACT) for each in "ab")

    with pytest.raises(FrozenInstanceError):
        one.id = "c"  # type: ignore[misc]
    assert one.metadata is not other.metadata


def test_by_place_takes_all_fields() -> None:
    memory = Memory(id="a", workspace_id="w", content="c", type=MemoryType.FACT)

    assert positional_constructor(Memory)(*astuple(memory)) == memory
    with pytest.raises(TypeError, match="missing"):
        positional_constructor(Memory)("a")


def test_arguments_are_held_to_as_in_the_constructor() -> None:
    with pytest.raises(TypeError, match="bucket"):
        fast_constructor(Tombstone)(id="a", memory_id="a", revision=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        fast_constructor(Tombstone)("a", "a", 1, 2)  # type: ignore[call-arg]


def test_a_class_that_checks_its_fields_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Checked:
        number: int = field(default=1)

        def __post_init__(self) -> None:
            assert self.number

    with pytest.raises(TypeError, match="own constructor"):
        fast_constructor(Checked)
