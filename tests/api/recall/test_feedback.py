"""Feedback over HTTP and by the client: its effect on later recalls, and which memories are listed for review."""

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, Invalid, NotFound
from openbrain.domain.memory import DAY
from tests.support.api.brain import Brain, client_of, http, remembered

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_what_is_used_comes_before_what_is_wrong(module_brain: Brain) -> None:
    """Of two memories that match equally well."""
    brain, workspace = module_brain, await module_brain.new_workspace()
    app, secret = brain.app(), await module_brain.key(workspace)
    async with http(app, secret) as raw:
        good, bad = await remembered(raw, "the heron fishes at dawn", "the heron fishes at dusk", confidence=0.8)
    await brain.settle()
    async with client_of(app, secret) as ada:
        first = await ada.recall("heron fishes", min_confidence=0.75)
        given = await ada.feedback(first.recall_id, used=[good], wrong=[bad], reason="seen at dawn")
        again = await ada.feedback(first.recall_id, used=[good, bad])
        await brain.settle()
        later = await ada.recall("heron fishes")
        sure = await ada.recall("heron fishes", min_confidence=0.75)
        told = await ada.memory(bad, history=True)

    assert {each.id for each in first.memories} == {good, bad}
    assert {each.memory_id: (each.status, each.confidence) for each in given.results} == {
        good: ("counted", 0.82),
        bad: ("counted", 0.7),
    }
    assert [each.status for each in again.results] == ["repeated", "repeated"]
    assert again.count == 0
    assert {each.id: each.confidence for each in later.memories} == {good: 0.82, bad: 0.7}
    assert [each.id for each in sure.memories] == [good]
    assert told.history is not None
    assert (told.history[-1].action, told.history[-1].reason, told.version) == ("feedback", "seen at dawn", 1)


async def test_a_recall_is_judged_by_who_was_answered(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app, secret = brain.app(), await module_brain.key(workspace)
    async with http(app, secret) as raw:
        (one,) = await remembered(raw, "the heron fishes")
    await brain.settle()
    reading = frozenset({Permission.BRAIN_READ})
    async with client_of(app, secret) as ada:
        recall = (await ada.recall("heron")).recall_id
        with pytest.raises(Invalid):
            await ada.feedback(recall)
        with pytest.raises(Invalid):
            await ada.feedback(recall, used=[one], wrong=[one])
    for agent, where in (("bo", workspace), ("ada", await brain.new_workspace())):
        async with client_of(app, await brain.key(where, agent)) as other:
            with pytest.raises(NotFound):
                await other.feedback(recall, wrong=[one])
    async with client_of(app, await brain.key(workspace, permissions=reading)) as reader:
        with pytest.raises(Forbidden):
            await reader.feedback(recall, wrong=[one])
    async with client_of(app, await brain.key(workspace, "hub", act_as=("ada",))) as hub:
        assert (await hub.feedback(recall, wrong=[one], agent_id="ada")).count == 1


async def test_what_nobody_asks_for_is_listed_for_review(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app, secret = brain.app(), await module_brain.key(workspace)
    async with http(app, secret) as raw:
        (asked,) = await remembered(raw, "the heron fishes")
        (other,) = await remembered(raw, "bread needs salt", project="zoo")
        (private,) = await remembered(raw, "mine alone", memory_scope="agent")
    await brain.settle()
    brain.clock.advance(95 * DAY)
    async with client_of(app, secret) as ada, client_of(app, await brain.key(workspace, "bo")) as bo:
        found = await ada.recall("heron", top_k=1)
        await ada.feedback(found.recall_id, used=[asked])
        mine = await ada.review()
        page = await ada.review(limit=1)
        rest = await ada.review(limit=1, cursor=page.next_cursor)
        theirs = await bo.review()
        zoo = await bo.review(project="zoo", days=94)
        young = await ada.review(days=96)

    assert {each.id for each in mine.memories} == {other, private}
    assert {each.id for each in (*page.memories, *rest.memories)} == {other, private}
    assert [each.id for each in theirs.memories] == [each.id for each in zoo.memories] == [other]
    assert young.count == 0
