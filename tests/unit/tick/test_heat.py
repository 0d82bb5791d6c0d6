"""Heat: the formula checked by hand, and what must never make an arc colder."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.thresholds import HEAD, SPEC, Thresholds
from openbrain_tick.plan.arcs.heat import heat_of, replays
from tests.support.vault.pages import DAY, HOUR, NOW, page


def arc(text: str) -> Arc:
    return parse_arc("clusters/2026-11-22/a.md", text, 0)


BASE = arc(page("2026-11-22-a"))


@pytest.mark.parametrize(
    ("changed", "replayed", "spec", "head"),
    [
        # Created today, one session: 3 for its age. In `head` no session is free, so it adds one.
        ({}, 0, 3, 4),
        ({"created_us": NOW - 24 * HOUR}, 0, 3, 4),
        ({"created_us": NOW - 24 * HOUR - 1}, 0, 1, 2),
        ({"created_us": NOW - 72 * HOUR}, 0, 1, 2),
        ({"created_us": NOW - 72 * HOUR - 1}, 0, 0, 1),
        ({"session_count": 3}, 0, 5, 6),
        ({"session_count": 9}, 0, 6, 6),
        ({"session_count": 0}, 0, 3, 3),
        ({"tools": 999}, 0, 3, 4),
        ({"tools": 1000}, 0, 5, 6),
        ({"tools": 9000}, 0, 7, 8),
        ({"joy": 4}, 0, 4, 5),
        ({"status": "active"}, 0, 5, 6),
        ({"errors": 9}, 0, 3, 4),
        ({}, 2, 5, 6),
        # 4 whole days: two after the decay starts in `spec`, which is one interval; `head` starts to decay after 7.
        ({"created_us": NOW - 4 * DAY, "tools": 2000}, 0, 3, 5),
        ({"created_us": NOW - 11 * DAY, "tools": 2000, "status": "active"}, 0, 2, 6),
        ({"created_us": NOW - 90 * DAY, "tools": 9000, "status": "active"}, 0, 0, 0),
        ({"tools": 9000, "session_count": 9, "joy": 1, "status": "active"}, 3, 10, 10),
        ({"created_us": NOW + DAY}, 0, 3, 4),
    ],
)
def test_the_formula(changed: dict[str, Any], replayed: int, spec: int, head: int) -> None:
    one = BASE._replace(created_us=NOW - HOUR)._replace(**changed)
    assert (heat_of(one, replayed, NOW, SPEC), heat_of(one, replayed, NOW, HEAD)) == (spec, head)


counts = st.integers(0, 10_000)
arcs = st.builds(
    lambda age, tools, joy, sessions, status: BASE._replace(
        created_us=NOW - age, tools=tools, joy=joy, session_count=sessions, status=status
    ),
    st.integers(-DAY, 400 * DAY),
    counts,
    st.integers(0, 50),
    st.integers(0, 20),
    st.sampled_from(["active", "complete", "stalled", ""]),
)
sets = st.sampled_from([SPEC, HEAD])


@given(arcs, st.integers(0, 12), sets, st.integers(0, 100 * DAY), counts, counts, st.integers(0, 12))
def test_more_never_cools_and_age_never_warms(
    one: Arc, replayed: int, thresholds: Thresholds, older: int, tools: int, joy: int, sessions: int
) -> None:
    heat = heat_of(one, replayed, NOW, thresholds)
    assert 0 <= heat <= 10
    assert heat_of(one._replace(tools=one.tools + tools), replayed, NOW, thresholds) >= heat
    assert heat_of(one._replace(joy=one.joy + joy), replayed, NOW, thresholds) >= heat
    assert heat_of(one._replace(session_count=one.session_count + sessions), replayed, NOW, thresholds) >= heat
    assert heat_of(one._replace(status="active"), replayed, NOW, thresholds) >= heat
    assert heat_of(one, replayed + 1, NOW, thresholds) >= heat
    assert heat_of(one, replayed, NOW + older, thresholds) <= heat


def test_young_arcs_warm_what_they_were_replayed_from_once_each() -> None:
    def from_(name: str, days: int, *sources: str) -> Arc:
        return BASE._replace(id=name, created_us=NOW - days * DAY, replayed_from=sources)

    found = replays(
        [from_("a", 1, "old", "old"), from_("b", 13, "old"), from_("c", 14, "old"), from_("d", 1, "d")], NOW, SPEC
    )
    assert found == {"old": 2}
