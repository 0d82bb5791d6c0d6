"""The project that a page names, and the memories of its markers, on both databases."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from openbrain.domain.memory import Scope
from openbrain.ports.store.vault import VaultMemory
from openbrain.ports.store.writes import Edit, Origin
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain_tick.apply.sync_memories import SyncedMemories
from tests.support.vault.synced import TICK, WORKSPACE, Brain, brain, mark, page

__all__ = ["brain"]


async def test_a_page_that_is_given_another_project_moves_its_memories(brain: Brain) -> None:
    said = mark("Test first.") + mark("Ask.", attrs=" project=bank")
    await brain.sync(page("a", said))
    before = {each.content: each.id for each in await brain.living()}

    done = await brain.sync(page("a", said, project="till"))

    assert (done.refiled, done.submitted, done.problems) == (1, 0, [])
    assert {each.content: each.id for each in await brain.living()} == before
    assert {each.content: each.project for each in await brain.living()} == {"Ask.": "bank", "Test first.": "till"}
    assert await brain.sync(page("a", said, project="till")) == SyncedMemories()
    await brain.sync(page("a", said, project=""))
    assert {(each.project, each.memory_scope) for each in await brain.living()} == {
        ("bank", Scope.PROJECT),
        ("", Scope.SHARED),
    }


async def test_a_memory_that_people_moved_stays_until_its_page_names_another_project(brain: Brain) -> None:
    await brain.sync(page("a", mark("Test first.")))
    (memory,) = await brain.living()
    origin = Origin(actor="ada")
    await brain.store.writes.update(Edit(memory_id=memory.id, viewer=TICK.viewer(), origin=origin, project="bank"))

    await brain.sync(page("a", mark("Test first.") + mark("More.")))
    assert {each.content: each.project for each in await brain.living()} == {"More.": "shop", "Test first.": "bank"}
    await brain.sync(page("a", mark("Test first."), project="till"))
    assert [(each.id, each.project) for each in await brain.living()] == [(memory.id, "till")]


async def test_what_two_pages_say_moves_when_both_do(brain: Brain) -> None:
    one, other = page("a", mark("Test first.")), page("b", mark("Test first."))
    await brain.sync(one, other)
    (memory,) = await brain.living()

    await brain.sync(page("a", mark("Test first."), "till"), other)
    assert sorted(each.project for each in await brain.living()) == ["shop", "till"]
    await brain.sync(page("a", mark("Test first."), "till"), page("b", mark("Test first."), "till"))
    assert [each.project for each in await brain.living()] == ["till"]

    both = [page(name, mark("Test first."), "bank") for name in "ab"]
    (memory,) = await brain.living()
    assert (await brain.sync(*both)).refiled == 1
    assert [(each.id, each.project) for each in await brain.living()] == [(memory.id, "bank")]


async def test_what_others_remembered_stays_in_its_project(brain: Brain) -> None:
    theirs = await brain.say("Test first.")
    await brain.sync(page("a", mark("Test first.")))

    await brain.sync(page("a", mark("Test first."), "till"))

    assert {each.project: each.id == theirs.id for each in await brain.living()} == {"shop": True, "till": False}
    await brain.sync(page("a", "", "till"))
    assert [each.id for each in await brain.living()] == [theirs.id]


async def test_a_kill_while_a_page_moves_its_memory_doubles_nothing(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    record = brain.store.vault.record_vault_memories

    async def killed(workspace_id: str, put: Sequence[VaultMemory], drop: Collection[tuple[str, str]]) -> None:
        if put:
            raise Killed
        await record(workspace_id, put, drop)

    await brain.sync(page("a", mark("Test first.")), page("b", mark("Look."), "till"))
    moved = [page("a", mark("Test first.") + mark("Look."), "till"), page("b", mark("Look."), "till")]
    with monkeypatch.context() as patch:
        patch.setattr(brain.store.vault, "record_vault_memories", killed)
        with pytest.raises(Killed):
            await brain.sync(*moved)
    await brain.sync(*moved)

    assert [each.content for each in await brain.living()] == ["Look.", "Test first."]
    assert {each.project for each in await brain.living()} == {"till"}


async def test_a_block_that_comes_to_a_page_of_another_project_moves_too(brain: Brain) -> None:
    await brain.sync(page("a", mark("one")), page("b", mark("two"), "till"))

    await brain.sync(page("a", ""), page("b", mark("one") + mark("two"), "till"))
    assert {each.content: each.project for each in await brain.living()} == {"one": "till", "two": "till"}
    await brain.sync(page("c", mark("one") + mark("two"), ""))
    assert {each.content: each.project for each in await brain.living()} == {"one": "till", "two": "till"}


async def test_a_session_whose_arc_comes_or_goes_moves_nothing(brain: Brain) -> None:
    body = mark("Ask first.", attrs=" session=s-1")
    lessons = parse_arc("left/reference/lessons.md", f"---\ncreated: 2026-03-02\n---\n\n{body}", 0)
    arc = "---\ncluster_id: a\nproject: shop\nsource_sessions: [s-1]\n---\n"
    await brain.sync(lessons)

    done = await brain.sync(lessons, parse_arc("clusters/2026-03-02/2026-03-02-a.md", arc + mark("More."), 0))

    assert (done.submitted, done.refiled) == (1, 0)
    assert {each.content: each.project for each in await brain.living()} == {"Ask first.": "", "More.": "shop"}


@pytest.mark.parametrize(("edited", "project"), [(False, "till"), (True, "bank")])
async def test_a_row_of_an_earlier_version_lets_its_memory_tell_the_project(
    brain: Brain, edited: bool, project: str
) -> None:
    await brain.sync(page("a", mark("Test first.")))
    (memory,) = await brain.living()
    rows = [replace(row, project=None) for row in await brain.store.vault.vault_memories(WORKSPACE)]
    await brain.store.vault.record_vault_memories(WORKSPACE, rows, ())
    if edited:
        edit = Edit(memory_id=memory.id, viewer=TICK.viewer(), origin=Origin(actor="ada"), project="bank")
        await brain.store.writes.update(edit)

    await brain.sync(page("a", mark("Test first."), "till"))

    assert [each.project for each in await brain.living()] == [project]
    assert [row.project for row in await brain.store.vault.vault_memories(WORKSPACE)] == ["till"]
