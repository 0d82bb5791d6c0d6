"""Changing and forgetting one memory, on both databases."""

from collections.abc import Sequence
from typing import Any, cast

import orjson
import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.errors import Conflict, NotFound, Outdated
from openbrain.domain.ids import content_hash, uuid7
from openbrain.domain.memory import Memory, MemoryType, Reason, Scope
from openbrain.ports.store.writes import Edit, Status
from tests.support.store.fixtures import START, FakeClock, announced, origin, row, rows, stored, viewer, write
from tests.support.store.parts import LostResponses


def edit(memory_id: str, **changes: Any) -> Edit:
    given: dict[str, Any] = {"viewer": viewer(), "origin": origin("bo", causation_id="e")}
    return Edit(memory_id=memory_id, **(given | changes))


async def history(database: Database, memory_id: str) -> Sequence[dict[str, Any]]:
    lines = await rows(database, "SELECT * FROM memory_history WHERE memory_id = :id ORDER BY id", id=memory_id)
    for line in lines:
        line["before"], line["after"] = (orjson.loads(line[name] or "null") for name in ("before", "after"))
    return lines


async def test_new_content_is_a_new_version(database: Database, writing: SqlMemoryWrites, clock: FakeClock) -> None:
    old = await stored(writing, "old")
    clock.advance(7)
    new = await writing.update(edit(old.id, content="new", tags=("t",)))
    assert new == await row(database, old.id)
    assert (new.content, new.content_hash, new.tags) == ("new", content_hash("new"), ("t",))
    assert (new.version, new.revision) == (2, 2)
    assert (new.updated_at, new.confirmed_at, new.created_at, new.occurred_at) == (START + 7, START + 7, START, START)
    line = (await history(database, old.id))[-1]
    assert (line["action"], line["actor"], line["version"], line["at"]) == ("updated", "bo", 2, START + 7)
    assert line["before"] == {"content": "old", "tags": []}
    assert line["after"] == {"content": "new", "tags": ["t"]}
    told = (await announced(database))[-1]
    assert (told["change"], told["version"], told["revision"], told["causationid"]) == ("content", 2, 2, "e")
    assert (await writing.remember([write("new")]))[0].memory == new
    assert (await writing.remember([write("old")]))[0].status is Status.CREATED


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"tags": ("x",)}, "tags", ("x",)),
        ({"metadata": {"k": 1}}, "metadata", {"k": 1}),
        ({"type": "decision"}, "type", MemoryType.DECISION),
        ({"confidence": 0.0}, "confidence", 0.0),
        ({"source": "elsewhere"}, "source", "elsewhere"),
        ({"expires_at": START + 50}, "expires_at", START + 50),
        ({"expires_at": 0}, "expires_at", None),
    ],
)
async def test_what_is_about_it_changes_its_revision_too(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock, *, change: dict[str, Any], field: str, value: object
) -> None:
    old = await stored(writing, expires_at=START + 100)
    clock.advance(7)
    new = await writing.update(edit(old.id, **change))
    assert new == await row(database, old.id)
    assert getattr(new, field) == value
    assert (new.version, new.revision, new.updated_at, new.confirmed_at) == (2, 2, START + 7, START)
    told = (await announced(database))[-1]
    assert (told["change"], told["revision"]) == ("metadata", 2)


async def test_confirming_moves_only_what_decay_counts_from(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    old = await stored(writing)
    clock.advance(7)
    new = await writing.update(edit(old.id, confirm=True))
    assert new == await row(database, old.id)
    assert (new.confirmed_at, new.updated_at, new.version, new.revision) == (START + 7, START, 1, 1)
    assert [line["action"] for line in await history(database, old.id)] == ["created", "confirmed"]
    assert len(await announced(database)) == 1
    both = await writing.update(edit(old.id, confirm=True, tags=("x",)))
    assert (both.confirmed_at, both.revision) == (START + 7, 2)


async def test_what_changes_nothing_writes_nothing(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    old = await stored(writing, tags=("a",), metadata={"k": 1})
    clock.advance(7)
    for nothing in ({}, {"content": old.content, "tags": ("a",), "metadata": {"k": 1}, "expires_at": 0}):
        assert await writing.update(edit(old.id, **nothing)) == old
    assert len(await history(database, old.id)) == len(await announced(database)) == 1


async def test_content_that_another_holds_is_refused(database: Database, writing: SqlMemoryWrites) -> None:
    old, other = await stored(writing, "old"), await stored(writing, "other")
    with pytest.raises(Conflict) as caught:
        await writing.update(edit(old.id, content="other"))
    assert caught.value.head == other.id
    assert await row(database, old.id) == old
    assert len(await announced(database)) == 2


async def test_content_that_a_due_memory_holds_is_taken(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    old, due = await stored(writing, "old"), await stored(writing, "other", expires_at=START + 1)
    clock.advance(1)
    assert (await writing.update(edit(old.id, content="other"))).content == "other"
    assert (await row(database, due.id)).reason is Reason.EXPIRED


async def test_an_allowed_duplicate_may_become_another(writing: SqlMemoryWrites) -> None:
    await stored(writing, "a")
    await stored(writing, "b")
    (outcome,) = await writing.remember([write("a", allow_duplicate=True)])
    assert outcome.memory is not None
    assert (await writing.update(edit(outcome.memory.id, content="b"))).content == "b"


async def out_of_sight(writing: SqlMemoryWrites, clock: FakeClock) -> list[str]:
    kept: list[Memory] = [
        await stored(writing, "agent's", agent_id="bo", memory_scope=Scope.AGENT),
        await stored(writing, "tenant's", workspace_id="w2"),
        await stored(writing, "org's", org="other"),
        await stored(writing, "session's", memory_scope=Scope.SESSION, session_id="s"),
        await stored(writing, "due", expires_at=START + 1),
    ]
    clock.advance(1)
    return [uuid7(START), *(each.id for each in kept)]


async def test_what_is_not_seen_is_like_what_never_was(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    said = set()
    limited = viewer(orgs=("acme",))
    for memory_id in await out_of_sight(writing, clock):
        with pytest.raises(NotFound) as edited:
            await writing.update(edit(memory_id, content="x", viewer=limited))
        with pytest.raises(NotFound) as forgotten:
            await writing.forget(memory_id, limited, origin(), "")
        said |= {str(edited.value), str(forgotten.value)}
    assert len(said) == 1
    assert len(await announced(database)) == 5


async def test_forgetting_once_and_again(database: Database, writing: SqlMemoryWrites, clock: FakeClock) -> None:
    old = await stored(writing)
    clock.advance(7)
    gone = await writing.forget(old.id, viewer(), origin("bo", causation_id="e"), "it was wrong")
    assert gone == await row(database, old.id)
    assert (gone.reason, gone.deleted_at, gone.revision, gone.version) == (Reason.FORGOTTEN, START + 7, 2, 1)
    line = (await history(database, old.id))[-1]
    assert (line["action"], line["actor"], line["note"], line["revision"]) == ("forgotten", "bo", "it was wrong", 2)
    told = (await announced(database))[-1]
    assert (told["stream"], told["reason"], told["causationid"]) == ("memory.superseded", "forgotten", "e")
    assert "superseded_by" not in told
    clock.advance(7)
    assert await writing.forget(old.id, viewer(), origin(), "again") == gone
    assert len(await history(database, old.id)) == len(await announced(database)) == 2
    with pytest.raises(NotFound):
        await writing.update(edit(old.id, content="x"))


async def test_forgetting_what_was_superseded_names_the_head(database: Database, writing: SqlMemoryWrites) -> None:
    old = await stored(writing, "old")
    new = await stored(writing, "new", supersedes_id=old.id)
    with pytest.raises(Conflict) as caught:
        await writing.forget(old.id, viewer(), origin(), "")
    assert caught.value.head == new.id
    assert (await row(database, new.id)).reason is None


async def test_a_lost_response_to_the_commit_is_no_conflict(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    twice = SqlMemoryWrites(cast("Database", LostResponses(database)), clock)
    first = await stored(writing, "first")
    seen = frozenset({first.edition})
    clock.advance(1)

    new = await twice.update(edit(first.id, content="second", confirm=True, expected_versions=seen))
    assert (new.version, new.content) == (2, "second")
    clock.advance(1)
    gone = await twice.forget(first.id, viewer(), origin(), "", frozenset({new.edition}))
    assert gone.edition == "2-forgotten"
    clock.advance(1)
    back = await twice.restore(first.id, viewer(), origin(), "", frozenset({gone.edition}))
    assert (back.version, back.reason) == (3, None)
    assert [line["action"] for line in await history(database, first.id)] == [
        "created",
        "updated",
        "forgotten",
        "restored",
    ]
    clock.advance(1)
    with pytest.raises(Outdated):
        await twice.update(edit(first.id, content="second", expected_versions=seen))
    for end in (writing.forget, writing.restore):
        with pytest.raises(Outdated):
            await end(first.id, viewer(), origin(), "", seen)


async def test_a_repeated_change_finds_its_own_and_no_others(writing: SqlMemoryWrites, clock: FakeClock) -> None:
    memory = await stored(writing, "one")
    tagged = edit(memory.id, tags=("a",), expected_versions=frozenset({memory.edition}))
    changed = await writing.update(tagged)
    gone = await writing.forget(memory.id, viewer(), origin("bo"), "")
    back = await writing.restore(memory.id, viewer(), origin("bo"), "", frozenset({gone.edition}))
    clock.advance(1)

    assert await writing.restore(memory.id, viewer(), origin("bo"), "", frozenset({gone.edition})) == back
    for late in (
        writing.restore(memory.id, viewer(), origin("eve"), "", frozenset({gone.edition})),
        writing.restore(memory.id, viewer(), origin("bo"), "", frozenset({changed.edition})),
        writing.update(tagged),
    ):
        with pytest.raises(Outdated):
            await late
