"""The history of a moved or imported memory, for those who could not always see the memory."""

from typing import Any

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from tests.support.api.brain import Brain, http, remembered
from tests.support.api.transfer import HEADER, NDJSON, as_file, memory_line

SECRET, KNOWN = "the password is in the blue book", "ask ada for the password"


async def history(client: httpx.AsyncClient, memory_id: str, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get(f"/v1/brain/memories/{memory_id}", params={"history": "1", **query})
    assert answer.status_code == 200, answer.text
    lines: list[dict[str, Any]] = answer.json()["history"]
    return lines


async def test_a_draft_that_was_corrected_before_it_was_shared_stays_private(brain: Brain) -> None:
    app, admin = brain.app(), frozenset(Permission)
    keys = [await brain.key(), await brain.key(agent="eve"), await brain.key(agent="root", permissions=admin)]
    ada, eve, root = (http(app, key) for key in keys)
    async with ada, eve, root:
        (own,) = await remembered(ada, SECRET, memory_scope="agent")
        for change in ({"content": KNOWN}, {"memory_scope": "shared"}, {"content": f"{KNOWN}!"}):
            assert (await ada.patch(f"/v1/brain/memories/{own}", json=change)).status_code == 200

        of_ada, of_eve, of_root = [await history(client, own) for client in (ada, eve, root)]
        last_two = await history(eve, own, limit=2, cursor=0)

    assert of_ada == of_root
    assert SECRET in str(of_ada)
    assert SECRET not in str(of_eve)
    assert [line["action"] for line in of_eve] == [line["action"] for line in of_ada]
    assert [(line["before"], line["after"]) for line in of_eve] == [
        (None, None),
        (None, None),
        (None, {"memory_scope": "shared"}),
        ({"content": KNOWN}, {"content": f"{KNOWN}!"}),
    ]
    assert last_two == of_eve[:2]


async def test_what_it_said_in_another_org_and_that_orgs_name_are_not_shown(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key()) as ada, http(app, await brain.key(agent="eve", orgs=("beta",))) as eve:
        (own,) = await remembered(ada, SECRET, org="alpha", memory_scope="shared")
        change = {"content": KNOWN, "org": "beta"}
        assert (await ada.patch(f"/v1/brain/memories/{own}", json=change)).status_code == 200
        lines = await history(eve, own)
    assert "alpha" not in str(lines)
    assert SECRET not in str(lines)
    assert lines[-1]["after"] == change


@pytest.mark.parametrize(
    "before",
    [
        *({"memory_scope": "nobody"}, {"type": "song"}, {"reason": "boredom"}, {"colour": "red"}, {"content": 5}),
        *({"tags": 3}, {"metadata": 4}, {"title": None}, {"confirmed_at": "noon"}, {"occurred_at": 10**18}),
        *({"superseded_by": ["x"]}, {"workspace_id": "w1", "id": "x"}),
    ],
    ids=str,
)
async def test_imported_history_of_values_that_no_memory_has_is_shown_and_changes_nothing(
    brain: Brain, before: dict[str, Any]
) -> None:
    """One such line failed every recall of the past in the workspace, for good."""
    app, workspace = brain.app(), await brain.new_workspace()
    root, ada = await brain.key(workspace, permissions=frozenset(Permission)), await brain.key(workspace)
    memory = memory_line("the fox is red")
    line = {"kind": "history", "memory_id": memory["id"], "version": 1, "revision": 1, "action": "updated"}
    line |= {"actor": "eve", "at": "2026-12-02T00:00:00Z", "before": before, "after": before}
    async with http(app, root) as client:
        file = as_file([HEADER, memory, line])
        assert (await client.post("/v1/brain/import", content=file, headers=NDJSON)).json()["created"] == 1
    async with http(app, ada) as client:
        asked = {"query": "red fox", "as_of": "2026-06-01T00:00:00Z"}
        answer = await client.post("/v1/brain/recall", json=asked)
        assert answer.status_code == 200, answer.text
        (found,) = answer.json()["memories"]
        assert len(await history(client, found["id"])) == 1
    assert (found["content"], found["tags"], found["occurred_at"]) == ("the fox is red", [], memory["occurred_at"])
