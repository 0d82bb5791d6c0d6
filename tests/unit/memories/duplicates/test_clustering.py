"""How clusters are built: near rows of a partition, connected components, and what is kept between steps."""

import math
from array import array
from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import TryLater
from openbrain.ports.lifecycle import Partition
from openbrain_housekeeper.handlers.lifecycle.clustering import near_rows, step_cache
from openbrain_housekeeper.handlers.lifecycle.clustering.components import Components
from openbrain_housekeeper.handlers.lifecycle.clustering.cursor import Cursor
from openbrain_housekeeper.handlers.lifecycle.clustering.near_rows import Rows
from openbrain_housekeeper.handlers.lifecycle.clustering.step_cache import StepCache

ANGLES = st.lists(st.tuples(st.integers(0, 359), st.integers(0, 2)), max_size=30)
"""Angles in degrees, and partitions."""
NEAR = 0.97
FIRST, LAST = Partition("p", "project", "fact", "", "a"), Partition("p", "project", "fact", "", "b")


def rows_of(angles: Sequence[tuple[int, int]]) -> Rows:
    rows = Rows()
    for angle, partition in angles:
        rows.add(array("f", (math.cos(math.radians(angle)), math.sin(math.radians(angle)))), partition)
    return rows


@given(ANGLES, st.integers(1, 40))
def test_all_pairs_of_a_partition_that_are_near_are_found_once(angles: list[tuple[int, int]], products: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(near_rows, "PRODUCTS", products)
        patched.setattr(near_rows, "BAND", 1 + products % 7)
        found = [pair for part in rows_of(angles).tiles(NEAR) for pair in part]

    expected = {
        (one, other)
        for one, (angle, partition) in enumerate(angles)
        for other, (other_angle, other_partition) in enumerate(angles)
        if one < other
        and partition == other_partition
        # No whole degree is so close to the limit that rounding decides.
        and math.cos(math.radians(angle - other_angle)) >= NEAR
    }
    assert sorted((pair.one, pair.other) for pair in found) == sorted(expected)
    for one, other, cosine in found:
        assert cosine == pytest.approx(math.cos(math.radians(angles[one][0] - angles[other][0])), abs=1e-5)


@pytest.mark.parametrize("products", [near_rows.PRODUCTS, 10, 1])
def test_of_many_that_are_near_the_nearest_are_compared(products: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_rows, "MOST_NEAR", 2)
    monkeypatch.setattr(near_rows, "PRODUCTS", products)
    rows = rows_of([(0, 0), (4, 0), (3, 0), (2, 0), (1, 0)])

    *_, found = rows.tiles(NEAR)

    assert [pair.other for pair in found if pair.one == 0] == [4, 3]
    assert [pair.cosine for pair in found] == sorted((pair.cosine for pair in found), reverse=True)


def test_nothing_is_near_where_nothing_is() -> None:
    assert [*Rows().tiles(NEAR)] == []
    assert [*rows_of([(0, 0)]).tiles(NEAR)] == []
    assert [*rows_of([(0, 0), (0, 1)]).tiles(NEAR)] == []


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20))
def test_components_are_what_links_lead_to(links: list[tuple[int, int]]) -> None:
    components = Components[int]()
    groups = [{number} for number in range(13)]
    for one, other in links:
        components.join(one, other)
        joined = [group for group in groups if {one, other} & group]
        groups = [group for group in groups if group not in joined] + [set().union(*joined)]

    assert components.all() == sorted(sorted(group) for group in groups if len(group) > 1)
    assert all(components.together(one, other) for one, other in links)


def test_an_operation_takes_the_room_of_one_that_rests_and_of_no_other() -> None:
    now = 0.0
    values = StepCache[str](lambda: now)
    for number in range(step_cache.MOST):
        values.put(f"operation {number}", "block")
        now += 1

    with pytest.raises(TryLater):
        values.put("one more", "block")
    assert values.get("operation 0") == "block"
    now = step_cache.FORGOTTEN_S + 1
    values.put("one more", "block")
    assert values.get("operation 1") is None  # the least recently used one
    assert values.get("operation 0") == "block"
    values.drop("operation 0")
    assert values.get("operation 0") is None


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(),
        Cursor(after=FIRST),
        Cursor(None, (FIRST, LAST), steps=3, read=200),
        Cursor(FIRST, (LAST, LAST), large=True, place=(7, "id")),
    ],
)
def test_a_cursor_survives_as_json(cursor: Cursor) -> None:
    assert Cursor.of(orjson.loads(orjson.dumps(cursor.value()))) == cursor
