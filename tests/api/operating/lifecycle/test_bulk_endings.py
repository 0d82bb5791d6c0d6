"""Bulk forget and erasure through the API: what a legal hold keeps, and what memories were merged into."""

from openbrain.domain.access.permissions import Permission
from openbrain.ports.lifecycle import Action, Change
from tests.api.memories.test_ending import FORGET_ALL, at_work, contents
from tests.contracts.store.work.test_lifecycle import running, selected
from tests.support.api.brain import Brain, http, refused, remembered


async def test_a_filter_leaves_what_a_legal_hold_covers_and_says_how_many(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission))) as ada:
        await remembered(ada, "one", "two", project="shop")
        await remembered(ada, "evidence", project="shop", tags=["trial"])
        await ada.put("/v1/admin/lifecycle", json={"legal_hold": [{"tags": ["trial"]}]})
        async with at_work(brain):
            body = {"project": "shop", "dry_run": False}
            done = (await ada.post(FORGET_ALL, json=body, headers={"prefer": "wait=30"})).json()
        again = (await ada.post(FORGET_ALL, json={"project": "shop", "dry_run": False, "erase": True})).json()
        assert await contents(ada) == {"evidence"}

    assert (done["count"], done["held"], len(done["sample"])) == (2, 1, 2)
    assert done["operation"]["result"] == {"forgotten": 2, "held": 1}
    assert (again["count"], again["held"], again["operation"]) == (0, 1, None)


async def test_an_erasure_names_what_its_matches_were_merged_into_and_takes_it_along_if_asked(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission))) as ada:
        both = await remembered(ada, "one says", "two says", speaker="anna")
        (into,) = await remembered(ada, "both say")
        operation = await running(brain.store, brain.clock)
        merge = [Change(memory_id=each, action=Action.ARCHIVED, why="", into=into) for each in both]
        await brain.store.lifecycle.apply(operation, selected(brain.clock), [*both, into], lambda _: merge)

        single = (await ada.delete(f"/v1/brain/memories/{both[0]}", params={"erase": 1})).json()
        body = {"speaker": "anna", "erase": True, "whole": True}
        looked = (await ada.post(FORGET_ALL, json=body)).json()
        refused(await ada.post(FORGET_ALL, json={"speaker": "anna", "merged": True}), 422)
        async with at_work(brain):
            asked = {**body, "dry_run": False, "merged": True}
            done = (await ada.post(FORGET_ALL, json=asked, headers={"prefer": "wait=30"})).json()
        row = (await ada.get(f"/v1/brain/memories/{into}")).json()

    assert single["merged"] == [into]
    assert (looked["count"], looked["merged"], looked["merged_sample"]) == (1, 1, [into])
    assert done["operation"]["result"] == {"erased": 2, "beside": 0}
    assert row["content"] == ""
