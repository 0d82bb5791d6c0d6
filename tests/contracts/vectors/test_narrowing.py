"""Whoever asks, within whatever org and project: exactly what the predicate says is found."""

import itertools

from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.domain.memory import Scope
from openbrain.ports.index import VectorIndex
from tests.support.indexes.conditions import NOW
from tests.support.indexes.entries import memory, vector_entry
from tests.support.indexes.vector_engines import EAST, INDEXLESS, found_all, write

pytestmark = INDEXLESS

NAMES = ("", "a", "b")
VIEWERS = (
    Viewer("acme", ""),
    Viewer("acme", "a"),
    Viewer("acme", "a", session_id="a"),
    Viewer("acme", "a", session_id="a", session_agents=("b",)),
    Viewer("acme", "a", ("a",)),
    Viewer("other", "a"),
)


async def test_within_an_org_and_a_project(index: VectorIndex) -> None:
    rows = [
        memory(workspace_id="acme", org=org, project=project, memory_scope=scope, agent_id=agent, session_id="a")
        for org, project, scope, agent in itertools.product(NAMES, NAMES, Scope, ("a", "b"))
    ]
    rows.append(memory(workspace_id="other", org="a", project="a", memory_scope=Scope.SHARED))
    await write(index, *(vector_entry(row, EAST) for row in rows))

    for viewer, org, project, exactly in itertools.product(VIEWERS, ("", "a"), ("", "a", "c"), (False, True)):
        condition = visible(viewer, Criteria(org=org, project=project, only_project=exactly), NOW)
        expected = {row.id for row in rows if matches(condition, row)}
        assert await found_all(index, condition) == expected, (viewer, org, project, exactly)
