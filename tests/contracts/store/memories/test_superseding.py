"""A memory supersedes another, on both databases: one head, and nobody learns of what they can't see."""

from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.errors import Conflict, Invalid
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Memory, Reason, Scope
from openbrain.ports.store.writes import Outcome, Status
from tests.support.store.fixtures import START, FakeClock, announced, origin, row, rows, stored, viewer, write


async def one(writing: SqlMemoryWrites, content: str, supersedes: str, **changes: Any) -> Outcome:
    (outcome,) = await writing.remember([write(content, supersedes_id=supersedes, **changes)])
    return outcome


async def total(database: Database) -> list[int]:
    tables = ("memories", "memory_history", "memory_lineage", "outbox")
    return [(await rows(database, f"SELECT COUNT(*) AS n FROM {table}"))[0]["n"] for table in tables]


async def test_the_old_leaves_and_the_new_stands(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    old = await stored(writing, "old")
    clock.advance(5)
    new = await stored(writing, "new", supersedes_id=old.id, origin=origin("bo", causation_id="e", traceparent="t"))
    ended = await row(database, old.id)
    assert (ended.reason, ended.deleted_at, ended.revision, ended.version) == (Reason.SUPERSEDED, START + 5, 2, 1)
    assert (await row(database, new.id)).supersedes_id == old.id
    assert await rows(database, "SELECT child_id, parent_id, kind, created_at FROM memory_lineage") == [
        {"child_id": new.id, "parent_id": old.id, "kind": "superseded", "created_at": START + 5}
    ]
    lines = await rows(database, "SELECT * FROM memory_history WHERE memory_id = :id ORDER BY id", id=old.id)
    assert [(line["action"], line["actor"], line["revision"]) for line in lines] == [
        ("created", "ada", 1),
        ("superseded", "bo", 2),
    ]
    told = {
        "stream": "memory.superseded",
        "memory_id": old.id,
        "workspace_id": "w1",
        "revision": 2,
        "superseded_by": new.id,
        "reason": "superseded",
        "causationid": "e",
        "traceparent": "t",
    }
    assert told in await announced(database)


async def test_only_the_head_can_be_replaced(database: Database, writing: SqlMemoryWrites) -> None:
    first = await stored(writing, "1")
    second = await stored(writing, "2", supersedes_id=first.id)
    third = await stored(writing, "3", supersedes_id=second.id)
    before = await total(database)
    for past in (first, second):
        outcome = await one(writing, "4", past.id)
        assert outcome.status is Status.REFUSED
        assert isinstance(outcome.error, Conflict)
        assert outcome.error.head == third.id
        same = await one(writing, "3", past.id)
        assert (same.status, same.memory) == (Status.DUPLICATE, third)
    assert await total(database) == before


async def test_the_same_content_changes_nothing(database: Database, writing: SqlMemoryWrites) -> None:
    old = await stored(writing, "old", session_id="s1")
    before = await total(database)
    outcome = await one(writing, "old", old.id, session_id="s2")
    assert (outcome.status, outcome.memory) == (Status.DUPLICATE, old)
    assert await total(database) == before


async def test_the_same_content_for_others_is_a_change(database: Database, writing: SqlMemoryWrites) -> None:
    old = await stored(writing, "old", memory_scope=Scope.AGENT)
    assert (await one(writing, "old", old.id)).status is Status.CREATED
    assert (await row(database, old.id)).reason is Reason.SUPERSEDED


async def test_what_is_known_elsewhere_takes_the_place(database: Database, writing: SqlMemoryWrites) -> None:
    old, known = await stored(writing, "old"), await stored(writing, "known")
    outcome = await one(writing, "known", old.id)
    assert (outcome.status, outcome.memory) == (Status.DUPLICATE, known)
    assert (await row(database, old.id)).reason is Reason.SUPERSEDED
    assert (await rows(database, "SELECT child_id FROM memory_lineage"))[0]["child_id"] == known.id
    conflict = await one(writing, "late", old.id)
    assert isinstance(conflict.error, Conflict)
    assert conflict.error.head == known.id


async def test_a_due_memory_that_says_it_already_is_ended(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    old, due = await stored(writing, "old"), await stored(writing, "known", expires_at=START + 1)
    clock.advance(1)
    assert (await one(writing, "known", old.id)).status is Status.CREATED
    assert (await row(database, due.id)).reason is Reason.EXPIRED


async def unseen(writing: SqlMemoryWrites, clock: FakeClock) -> list[Memory]:
    kept = [
        await stored(writing, "agent's", agent_id="bo", memory_scope=Scope.AGENT),
        await stored(writing, "tenant's", workspace_id="w2"),
        await stored(writing, "org's", org="other"),
        await stored(writing, "session's", memory_scope=Scope.SESSION, session_id="s"),
        await stored(writing, "due", expires_at=START + 1),
    ]
    clock.advance(1)
    return kept


async def test_what_is_not_seen_is_like_what_never_was(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    kept = await unseen(writing, clock)
    before = await total(database)
    limited = viewer(orgs=("acme",))
    outcomes = [await one(writing, "new", each, viewer=limited) for each in [uuid7(START), *(m.id for m in kept)]]
    assert {type(outcome.error) for outcome in outcomes} == {Invalid}
    assert len({str(outcome.error) for outcome in outcomes}) == 1
    assert all(isinstance(outcome.error, Invalid) and outcome.error.field == "supersedes" for outcome in outcomes)
    assert await total(database) == before


async def test_a_head_that_is_not_seen_is_not_named(writing: SqlMemoryWrites) -> None:
    old = await stored(writing, "old")
    await stored(
        writing, "mine now", supersedes_id=old.id, agent_id="bo", memory_scope=Scope.AGENT, viewer=viewer(agent="bo")
    )
    outcome = await one(writing, "new", old.id)
    assert isinstance(outcome.error, Conflict)
    assert outcome.error.head is None


@pytest.mark.parametrize("end", ["forgotten", "chain"])
async def test_what_was_forgotten_has_no_successor(writing: SqlMemoryWrites, end: str) -> None:
    old = await stored(writing, "old")
    last = old if end == "forgotten" else await stored(writing, "newer", supersedes_id=old.id)
    await writing.forget(last.id, viewer(), origin(), "")
    outcome = await one(writing, "new", old.id)
    assert isinstance(outcome.error, Conflict)
    assert outcome.error.head is None


async def test_neighbours_of_a_refused_one_are_stored(database: Database, writing: SqlMemoryWrites) -> None:
    old, other = await stored(writing, "old"), await stored(writing, "other")
    outcomes = await writing.remember(
        [
            write("a"),
            write("b", supersedes_id=old.id),
            write("c", supersedes_id=old.id, idempotency_key="k"),
            write("b"),
            write("d", supersedes_id=uuid7(START)),
            write("e", supersedes_id=other.id),
            write("f"),
        ]
    )
    assert [outcome.status.value for outcome in outcomes] == [
        *("created", "created", "refused", "duplicate", "refused", "created", "created")
    ]
    assert outcomes[3].memory == outcomes[1].memory
    assert isinstance(outcomes[2].error, Conflict)
    assert outcomes[1].memory is not None
    assert outcomes[2].error.head == outcomes[1].memory.id
    assert await rows(database, "SELECT * FROM idempotency_keys") == []


async def test_a_repeated_attempt_is_no_second_effect(database: Database, writing: SqlMemoryWrites) -> None:
    old = await stored(writing, "old")
    again = [write("new", supersedes_id=old.id)]
    first = await writing.remember(again)
    before = await total(database)
    assert [(each.status, each.memory) for each in await writing.remember(again)] == [
        (each.status, each.memory) for each in first
    ]
    assert await total(database) == before


async def test_expiry_ends_what_is_due_and_says_so(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    due = [await stored(writing, f"due {number}", expires_at=START + number) for number in range(1, 6)]
    later = await stored(writing, "later", expires_at=START + 100)
    gone = await stored(writing, "gone", expires_at=START + 1)
    await writing.forget(gone.id, viewer(), origin(), "")
    upkeep = SqlMemoryWrites(database, clock)
    assert await upkeep.expire_due(10, clock.now()) == 0
    clock.advance(5)
    assert [await upkeep.expire_due(3, clock.now()) for _ in range(3)] == [3, 2, 0]
    ended = [await row(database, each.id) for each in due]
    assert {(each.reason, each.revision, each.deleted_at) for each in ended} == {(Reason.EXPIRED, 2, None)}
    assert (await row(database, later.id)).reason is None
    assert (await row(database, gone.id)).reason is Reason.FORGOTTEN
    told = [each["memory_id"] for each in await announced(database) if each.get("reason") == "expired"]
    assert sorted(told) == sorted(each.id for each in due)
    lines = await rows(database, "SELECT memory_id FROM memory_history WHERE action = 'expired'")
    assert len(lines) == 5
