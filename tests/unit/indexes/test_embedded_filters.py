"""Filters of the embedded vector index: each node takes longer than comparing the vectors, so there are few."""

import pytest

from openbrain.adapters.qdrant_edge.terms import compiled
from openbrain.domain.access.visibility import AllOf, Criteria, Viewer, visible

VIEWERS = [Viewer("w", ""), Viewer("w", "ada"), Viewer("w", "ada", session_id="s", session_agents=("ben",))]


def nodes(viewer: Viewer, criteria: Criteria) -> int:
    """The number of conditions besides the expiry, which is left out while nothing expires."""
    conditions = visible(viewer, criteria, 0).conditions
    asked = AllOf(tuple(item for item in conditions if getattr(item, "field", "") != "expires_at"))
    return len(compiled(asked).must or ())


@pytest.mark.parametrize("viewer", VIEWERS, ids=["anyone", "an agent", "a session"])
@pytest.mark.parametrize(
    "criteria",
    [Criteria(), Criteria(project="p"), Criteria(project="p", only_project=True), Criteria(org="o", project="p")],
)
def test_who_asks_and_within_which_project_are_one_node(viewer: Viewer, criteria: Criteria) -> None:
    assert nodes(viewer, criteria) == 1


def test_words_that_are_all_required_are_one_node() -> None:
    assert nodes(Viewer("w", ""), Criteria(org="o", sources=("notes",), agents=("ada",))) == 1
    assert nodes(Viewer("w", "ada"), Criteria(org="o", sources=("notes",), agents=("ada",))) == 2
