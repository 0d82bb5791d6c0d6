"""The vault's markers as memories, on both databases."""

from difflib import SequenceMatcher

import pytest

from openbrain.domain.memory import MemoryType, Reason, Scope
from openbrain.domain.times import to_iso
from openbrain.ports.store.vault import VaultMemory
from openbrain.ports.store.writes import Origin
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.values import Problem
from openbrain_tick.apply import memory_comparison
from openbrain_tick.apply.sync_memories import SyncedMemories
from tests.support.vault.synced import TICK, WORKSPACE, Brain, brain, mark, page

__all__ = ["brain"]


async def test_rows_are_replaced_and_dropped(brain: Brain) -> None:
    def row(arc: str, marker: str, memory_id: str) -> VaultMemory:
        return VaultMemory(arc=arc, marker=marker, memory_id=memory_id, content_hash="h", project="shop")

    store = brain.store
    await store.vault.record_vault_memories(
        WORKSPACE, [row("b", "1", "m1"), row("a", "2", "m2"), row("a", "1", "m3")], ()
    )
    await store.vault.record_vault_memories(WORKSPACE, [row("a", "2", "m4")], [("b", "1"), ("b", "9")])
    await store.vault.record_vault_memories("w2", [row("a", "1", "m9")], ())
    await store.vault.note_vault_digest(WORKSPACE, "d1")
    await store.vault.note_vault_digest(WORKSPACE, "d2")

    assert await store.vault.vault_memories(WORKSPACE) == [row("a", "1", "m3"), row("a", "2", "m4")]
    assert (await store.vault.vault_digest(WORKSPACE), await store.vault.vault_digest("w2")) == ("d2", "")
    assert await store.vault.memories_of_arcs(WORKSPACE, ["a", "b", ""]) == {"a": ("m3", "m4")}


async def test_lessons_decisions_and_milestones_become_memories_once(brain: Brain) -> None:
    arc = page(
        "a",
        mark("Test first.")
        + mark("Use MariaDB.", "decision", " date=2026-01-31")
        + mark("Shipped.", "milestone")
        + mark("Hot.", "hot")
        + "<!-- @lesson -->",
    )

    done = await brain.sync(arc)

    assert (done.submitted, len(done.problems)) == (3, 0)
    decision = next(each for each in await brain.living() if each.type is MemoryType.DECISION)
    assert (decision.content, decision.source, decision.project) == ("Use MariaDB.", "vault:a", "shop")
    assert (decision.tags, decision.metadata) == (("vault", "decision"), {"arc": "a", "marker": "decision"})
    assert decision.memory_scope is Scope.PROJECT
    assert decision.occurred_at == 1_769_817_600_000_000
    assert await brain.sync(arc) == SyncedMemories()
    assert await brain.said() == ["Shipped.", "Test first.", "Use MariaDB."]


async def test_what_is_edited_is_superseded(brain: Brain) -> None:
    await brain.sync(page("a", mark("Clamp the voucher at zero.") + mark("Test first.")))
    (before, _) = await brain.living()

    done = await brain.sync(page("a", mark("Test first.") + mark("Clamp the voucher at zero, always.")))

    assert (done.submitted, done.superseded, done.forgotten) == (0, 1, 0)
    after = next(each for each in await brain.living() if each.content.endswith("always."))
    assert after.supersedes_id == before.id
    assert await brain.said() == ["Clamp the voucher at zero, always.", "Test first."]


async def test_a_page_written_anew_is_compared_with_few_memories_per_marker(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def matcher(junk: None, before: str, now: str, **more: bool) -> SequenceMatcher[str]:
        compared.append(now)
        return SequenceMatcher(junk, before, now, **more)

    monkeypatch.setattr(memory_comparison, "SequenceMatcher", matcher)
    lines = [f"Rule {number}: the {word} is checked first." for number, word in enumerate(["disk", "key", "mail"] * 4)]
    await brain.sync(page("a", "".join(mark(line) for line in lines)))
    before = {memory.content: memory.id for memory in await brain.living()}

    done = await brain.sync(page("a", "".join(mark(f"{line} Always.") for line in reversed(lines))))

    assert (done.superseded, len(compared) <= 2 * len(lines)) == (len(lines), True)  # not each with each
    assert {memory.content[:-8]: memory.supersedes_id for memory in await brain.living()} == before


async def test_a_marker_with_an_id_is_the_same_however_it_is_edited(brain: Brain) -> None:
    await brain.sync(page("a", mark("old words", attrs=" id=x1")))

    assert (await brain.sync(page("a", mark("something else entirely", attrs=" id=x1")))).superseded == 1
    assert await brain.said() == ["something else entirely"]


async def test_what_is_removed_is_forgotten_and_comes_back_when_it_does(brain: Brain) -> None:
    both = page("a", mark("one") + mark("two"))
    await brain.sync(both)

    assert (await brain.sync(page("a", mark("one")))).forgotten == 1
    assert await brain.said() == ["one"]
    assert (await brain.sync(both)).submitted == 1
    assert await brain.said() == ["one", "two"]


async def test_what_moves_to_another_arc_stays_the_same_memory(brain: Brain) -> None:
    await brain.sync(page("a", mark("one")), page("b", mark("two")))
    before = {each.id for each in await brain.living()}

    done = await brain.sync(page("a", mark("one") + mark("two")))

    assert done == SyncedMemories()
    assert {each.id for each in await brain.living()} == before
    assert set((await brain.store.vault.memories_of_arcs(WORKSPACE, ["a"]))["a"]) == before


async def test_what_two_arcs_say_is_one_memory_until_both_are_silent(brain: Brain) -> None:
    await brain.sync(page("a", mark("one")), page("b", mark("one")))
    assert await brain.said() == ["one"]

    assert (await brain.sync(page("a", ""), page("b", mark("one")))).forgotten == 0
    assert await brain.said() == ["one"]
    assert (await brain.sync(page("a", ""), page("b", ""))).forgotten == 1
    assert await brain.said() == []


async def test_what_others_remembered_is_neither_doubled_nor_forgotten_nor_changed(brain: Brain) -> None:
    theirs = await brain.say("Clamp the voucher at zero.")
    await brain.sync(page("a", mark("Clamp the voucher at zero.")))
    assert [each.id for each in await brain.living()] == [theirs.id]

    await brain.sync(page("a", mark("Clamp the voucher at zero, always.")))
    assert await brain.said() == ["Clamp the voucher at zero, always.", "Clamp the voucher at zero."]


async def test_a_memory_that_people_ended_is_not_brought_back_by_the_same_marker(brain: Brain) -> None:
    await brain.sync(page("a", mark("Clamp the voucher at zero.")))
    (memory,) = await brain.living()
    await brain.store.writes.forget(memory.id, TICK.viewer(), Origin(actor="ada"), "wrong")

    assert await brain.sync(page("a", mark("Clamp the voucher at zero.") + "more text")) == SyncedMemories()
    assert await brain.said() == []
    await brain.sync(page("a", mark("Clamp the voucher at zero, always.")))
    assert await brain.said() == ["Clamp the voucher at zero, always."]


async def test_what_can_not_be_seen_is_not_forgotten(brain: Brain) -> None:
    await brain.sync(page("a", mark("one")), page("b", mark("two")))

    unclosed = page("a", f"```\n{mark('one')}")
    unreadable = Problem("clusters/2026-03-02/b.md", 3, "not UTF-8")
    assert (await brain.sync(unclosed, problems=[unreadable])).forgotten == 0
    assert await brain.said() == ["one", "two"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [("<<<<<<< HEAD\none\n=======\nuno\n>>>>>>> theirs", "merge conflict"), ("x" * 50_001, "at most 50000")],
)
async def test_what_can_not_become_a_memory_ends_none(brain: Brain, content: str, reason: str) -> None:
    await brain.sync(page("a", mark("one") + mark("two")))

    done = await brain.sync(page("a", mark(content) + mark("two")))
    assert (reason in done.problems[0].reason, await brain.said()) == (True, ["one", "two"])
    quoted = "After a conflict:\n\n```\n<<<<<<< HEAD\n```"
    assert (await brain.sync(page("a", mark(quoted) + mark("two")))).problems == []
    assert await brain.said() == [quoted, "two"]


async def test_half_a_vault_is_not_forgotten_at_once(brain: Brain) -> None:
    many = [mark(f"number {n}") for n in range(40)]
    await brain.sync(page("a", "".join(many)))

    done = await brain.sync(page("a", "".join(many[:10])))
    assert (done.forgotten, len(await brain.living())) == (0, 40)
    assert "30 of 40 markers" in done.problems[0].reason
    assert (await brain.sync(page("a", "".join(many[:10])), share=1)).forgotten == 30


async def test_a_kill_between_a_memory_and_its_row_doubles_nothing(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    async def killed(*_: object) -> None:
        raise Killed

    first, second = page("a", mark("Clamp the voucher at zero.")), page("a", mark("Clamp the voucher at zero, always."))
    for step in (first, second, page("a", "")):
        with monkeypatch.context() as patch:
            patch.setattr(brain.store.vault, "record_vault_memories", killed)
            with pytest.raises(Killed):
                await brain.sync(step)
        await brain.sync(step)

        assert await brain.said() == [marker.content for marker in step.markers]


async def test_a_memory_holds_no_secret_and_no_content_beyond_its_limit(brain: Brain) -> None:
    done = await brain.sync(page("a", mark("the token=abcdefgh12 works") + mark("x" * 50_001)))

    assert await brain.said() == ["the token=[redacted] works"]
    assert "at most 50000 characters" in done.problems[0].reason


async def test_what_no_memory_can_be_is_told_and_harms_no_other(brain: Brain) -> None:
    odd = mark("one\x1b[31m", attrs=' project="a\x07b"') + mark("two", attrs=" date=9999-12-31")

    done = await brain.sync(page("a", odd))

    assert await brain.said() == ["one[31m"]
    assert [(each.path, "occurred_at" in each.reason) for each in done.problems] == [("a", True)]


async def test_what_is_forgotten_says_why(brain: Brain) -> None:
    await brain.sync(page("a", mark("one")))
    (memory,) = await brain.living()
    await brain.sync(page("a", ""))

    rows = await brain.store.memories.rows([memory.id])
    assert rows[memory.id].reason is Reason.FORGOTTEN
    assert (await brain.store.memories.history(memory.id))[-1].reason == "its marker was removed from the vault"


@pytest.mark.parametrize("date", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:00:00-05:00", "soon"])
async def test_a_mark_of_no_date_that_there_is_is_of_its_arcs(brain: Brain, date: str) -> None:
    done = await brain.sync(page("a", mark("Wait for it.", attrs=f" date={date}")))
    assert (done.submitted, done.problems) == (1, [])
    (memory,) = await brain.living()
    assert to_iso(memory.occurred_at)[:10] == "2026-03-02"


async def test_a_marker_of_a_session_belongs_to_the_project_of_its_arc(brain: Brain) -> None:
    arc = parse_arc(
        "clusters/2026-03-02/2026-03-02-a.md", "---\ncluster_id: a\nproject: shop\nsource_sessions: [s-1]\n---\n", 0
    )
    body = mark("Ask first.", attrs=" session=s-1") + mark("Look.", attrs=" session=s-2")
    page = parse_arc("left/reference/lessons.md", f"---\ncreated: 2026-03-02\n---\n\n{body}", 0)
    await brain.sync(arc, page)
    assert {each.content: each.project for each in await brain.living()} == {"Ask first.": "shop", "Look.": ""}
