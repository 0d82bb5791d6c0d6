"""A page of which only heat, status and folder change is known without being read again, as if it had been read."""

import pytest

from openbrain.domain.errors import NotFound
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.index import Scan
from openbrain.vault.thresholds import SPEC
from openbrain_tick.plan.plan import begin

PAGE = """---
title: The ferry
status: active
heat: 40
{front}
---
# The ferry

<!-- @lesson -->
Tickets are sold on board.
<!-- @/lesson -->
"""
FRONTS = (
    "created: 2026-04-10",
    "cluster_id: 2026-04-10-ferry",
    "created: 2026-04-10\ncluster_id: ferry",
    "region: bridge",
    "edges: [{sibling: x}]\ncreated: someday",
)
CHANGES = ({"heat": 7}, {"status": "Graduated"}, {"status": "graduated", "heat": 3}, {"heat": None}, {"region": "left"})
PLACES = ("", "left/2026-04-10-ferry.md", "clusters/bridge/2026-04-10-ferry.md", "left/renamed.md")


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("values", CHANGES)
@pytest.mark.parametrize("to", PLACES)
def test_it_is_what_its_text_says(front: str, values: dict[str, str | int | None], to: str) -> None:
    path = "clusters/2026-04-10-ferry.md"
    text = PAGE.format(front=front)
    arc = parse_arc(path, text, 0)

    def read(asked: str) -> str:
        if asked != path:
            raise NotFound(asked)
        return text

    plan = begin(Scan({path: arc}), read, 0, SPEC)

    edited = plan.edit(arc, values, to=to)

    new = plan.text(edited.path)
    assert new is not None
    assert edited == parse_arc(edited.path, new, arc.created_us * 1000)
