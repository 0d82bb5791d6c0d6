"""Quotas of a workspace, on both databases and for every kind of write."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.errors import NeverRetry, QuotaExceeded
from openbrain.domain.events.envelope import CloudEvent, event_type
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS, MemoryType, Reason
from openbrain.ports.store.tenants import UNLIMITED, Usage, Workspace, WorkspaceChange
from openbrain.ports.store.transfer import StoredMemory
from openbrain.ports.store.writes import Edit, Outcome, Status
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain.usecases.submit import Tenants
from openbrain_ingest.handlers.memory_submitted import accept
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import FakeClock, memory, origin, rows, stored, viewer, write
from tests.support.store.parts import LostResponses


@pytest.fixture
async def limited(store: SqlStore, clock: FakeClock) -> SqlStore:
    """A store in which w1 may hold three memories and a hundred bytes."""
    await store.workspaces.create_workspace(
        Workspace(id="w1", name="w1", created_at=clock.now(), max_memories=3, max_bytes=100)
    )
    clock.advance(3 * MICROSECONDS)
    return store


async def used(store: SqlStore) -> Usage:
    return (await store.workspaces.usage(["w1"]))["w1"]


async def counted(database: Database) -> Usage:
    living = await rows(database, "SELECT content FROM memories WHERE workspace_id = 'w1' AND reason IS NULL")
    return Usage(len(living), sum(len(each["content"].encode()) for each in living))


def refusals(outcomes: Sequence[Outcome]) -> list[tuple[str, int, int] | None]:
    errors = [outcome.error for outcome in outcomes]
    return [(each.field, each.limit, each.used) if isinstance(each, QuotaExceeded) else None for each in errors]


async def test_what_does_not_fit_is_refused_and_its_neighbours_are_stored(
    limited: SqlStore, database: Database
) -> None:
    outcomes = await limited.writes.remember([write(text) for text in ("a", "b", "b", "x" * 99, "c", "d", "a")])
    statuses = [outcome.status for outcome in outcomes]

    created, duplicate, refused = Status.CREATED, Status.DUPLICATE, Status.REFUSED
    assert statuses == [created, created, duplicate, refused, created, refused, duplicate]
    assert refusals(outcomes) == [None, None, None, ("max_bytes", 100, 2), None, ("max_memories", 3, 3), None]
    assert "3" in str(outcomes[5].error)
    assert await used(limited) == await counted(database) == Usage(3, 3)
    for table in ("memory_history", "outbox"):
        assert (await rows(database, f"SELECT count(*) AS n FROM {table}"))[0]["n"] == 3


async def test_a_lost_response_to_the_commit_refuses_and_counts_nothing_twice(
    limited: SqlStore, database: Database, clock: FakeClock
) -> None:
    twice = SqlMemoryWrites(cast("Database", LostResponses(database)), clock)

    for offered in ("a", "bc", "d"):
        outcomes = await twice.remember([write(text) for text in offered])
        full = offered == "d"
        assert [outcome.status for outcome in outcomes] == [Status.REFUSED if full else Status.CREATED] * len(offered)
        assert await used(limited) == await counted(database)
    (first, *_) = await limited.memories.listing(visible(viewer(), Criteria(), 0), 1)
    await twice.update(Edit(memory_id=first.id, viewer=viewer(), origin=origin(), content="longer"))
    await twice.forget(first.id, viewer(), origin(), "")
    await twice.restore(first.id, viewer(), origin(), "")
    assert await used(limited) == await counted(database) == Usage(3, 8)


async def test_an_idempotency_key_of_what_was_refused_is_free(limited: SqlStore) -> None:
    await limited.writes.remember([write(text) for text in "abc"])
    (full,) = await limited.writes.remember([write("d", idempotency_key="k")])
    (first, *_) = await limited.memories.listing(visible(viewer(), Criteria(), 0), 1)
    await limited.writes.forget(first.id, viewer(), origin(), "")
    (fits,) = await limited.writes.remember([write("d", idempotency_key="k")])

    assert (full.status, fits.status) == (Status.REFUSED, Status.CREATED)


async def test_who_is_full_may_replace_shorten_and_free(limited: SqlStore, database: Database) -> None:
    first = await stored(limited.writes, "é" * 20)
    await stored(limited.writes, "b" * 30)
    await stored(limited.writes, "c" * 30)
    (replaced,) = await limited.writes.remember([write("d" * 40, supersedes_id=first.id)])
    assert replaced.memory is not None
    (too_long,) = await limited.writes.remember([write("e" * 41, supersedes_id=replaced.memory.id)])
    shorter = Edit(memory_id=replaced.memory.id, viewer=viewer(), origin=origin(), content="d")
    await limited.writes.update(shorter)

    assert refusals([replaced, too_long]) == [None, ("max_bytes", 100, 100)]
    assert await used(limited) == await counted(database) == Usage(3, 61)
    with pytest.raises(QuotaExceeded) as longer:
        await limited.writes.update(
            Edit(memory_id=replaced.memory.id, viewer=viewer(), origin=origin(), content="d" * 41)
        )
    assert (longer.value.limit, longer.value.used) == (100, 61)
    assert await used(limited) == await counted(database) == Usage(3, 61)


async def test_whatever_ends_frees_and_what_comes_back_counts(
    limited: SqlStore, database: Database, clock: FakeClock
) -> None:
    kept = await stored(limited.writes, "kept")
    erased = await stored(limited.writes, "erased")
    await stored(limited.writes, "short", expires_at=clock.now() + 10)
    await limited.writes.erase(erased.id, viewer(), origin(), "")
    await limited.writes.erase(erased.id, viewer(), origin(), "")
    clock.advance(10)
    await limited.writes.expire_due(10, clock.now())
    assert await used(limited) == await counted(database) == Usage(1, 4)

    await limited.writes.forget(kept.id, viewer(), origin(), "")
    await limited.writes.forget(kept.id, viewer(), origin(), "")
    await limited.writes.remember([write(text) for text in "abc"])
    with pytest.raises(QuotaExceeded):
        await limited.writes.restore(kept.id, viewer(), origin(), "")
    assert await used(limited) == await counted(database) == Usage(3, 3)


async def test_what_had_ended_or_is_only_due_is_not_counted_twice(
    limited: SqlStore, database: Database, clock: FakeClock
) -> None:
    due = await stored(limited.writes, "due", expires_at=clock.now() + 10)
    archived = memory("archived", reason=Reason.ARCHIVED, archived_at=clock.now())
    await put(database, archived)
    clock.advance(10)
    assert (await limited.writes.restore(due.id, viewer(), origin(), "")).reason is None
    assert await used(limited) == await counted(database) == Usage(1, 3)

    await limited.writes.forget(archived.id, viewer(), origin(), "")
    assert await used(limited) == await counted(database) == Usage(1, 3)


async def test_many_at_once_never_hold_more(limited: SqlStore, database: Database) -> None:
    outcomes = await asyncio.gather(*(limited.writes.remember([write(f"text {number}")]) for number in range(12)))

    assert sum(outcome.status is Status.CREATED for each in outcomes for outcome in each) == 3
    assert await used(limited) == await counted(database) == Usage(3, 18)


async def test_a_quota_on_a_full_workspace_takes_nothing_away(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=clock.now()))
    for text in ("a", "b"):
        await stored(store.writes, text)
    assert await store.workspaces.usage(["w1"]) == {}
    await store.workspaces.change_workspace("w1", WorkspaceChange(max_memories=1))
    (full,) = await store.writes.remember([write("c")])
    await store.workspaces.change_workspace("w1", WorkspaceChange(max_memories=UNLIMITED))
    (fits,) = await store.writes.remember([write("c")])

    assert (full.status, fits.status) == (Status.REFUSED, Status.CREATED)
    assert (await counted(database)).memories == 3
    assert await store.workspaces.usage(["w1"]) == {}


async def test_a_process_that_has_not_heard_of_a_quota_does_not_spoil_the_count(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=clock.now()))
    other = SqlStore(database, clock)
    await other.writes.remember([write("a")])  # from here on it believes for a second that nobody has a quota
    await store.workspaces.change_workspace("w1", WorkspaceChange(max_memories=3))
    await other.writes.remember([write("b")])
    (third,) = await store.writes.remember([write("c")])
    (fourth,) = await store.writes.remember([write("d")])
    clock.advance(2 * MICROSECONDS)
    (late,) = await other.writes.remember([write("e")])

    assert [each.status for each in (third, fourth, late)] == [Status.CREATED, Status.REFUSED, Status.REFUSED]
    assert await used(store) == await counted(database) == Usage(3, 3)


async def test_writers_without_a_quota_do_not_wait_for_one_with(limited: SqlStore, database: Database) -> None:
    """Two tenants in one group: one tenant's refusal does not affect the other."""
    outcomes = await limited.writes.remember(
        [write(text, workspace_id=name) for text in "abcd" for name in ("w1", "w2")]
    )

    assert [outcome.status is Status.CREATED for outcome in outcomes] == [*[True] * 6, False, True]
    assert await used(limited) == await counted(database)


@dataclass(frozen=True)
class Submitted:
    """A submission as it comes from a stream."""

    event: CloudEvent[MemorySubmitted]
    workspace: str | None = None


async def test_a_full_workspace_refuses_submissions_for_good(limited: SqlStore, clock: FakeClock) -> None:
    """The dead letter gives the reason; another tenant's submission in the same batch is stored."""
    await limited.workspaces.create_workspace(Workspace(id="w2", name="w2", created_at=clock.now()))
    events = [
        CloudEvent[MemorySubmitted](
            id=f"{name} {text}",
            source="test",
            type=event_type("memory.submitted"),
            data=MemorySubmitted(content=text, type=MemoryType.FACT, workspace_id=name),
        )
        for text in "abcd"
        for name in ("w1", "w2")
    ]
    results = await accept(
        [Submitted(event) for event in events],
        writes=limited.writes,
        tenants=Tenants(limited.workspaces),
        clock=clock,
        content_policy=DetectingPolicy(),
        key_lifetime=MICROSECONDS,
    )

    assert [result is None for result in results] == [*[True] * 6, False, True]
    assert isinstance(results[6], NeverRetry)
    assert "may hold 3 memories" in str(results[6])


async def test_an_import_that_does_not_fit_leaves_nothing_of_its_transaction(
    limited: SqlStore, database: Database
) -> None:
    kept = [StoredMemory(memory(text, id=uuid7(number))) for number, text in enumerate("abcd")]
    with pytest.raises(QuotaExceeded):
        await limited.transfer.load("w1", kept)
    assert await used(limited) == await counted(database) == Usage(0, 0)

    await limited.transfer.load("w1", kept[:3])
    await limited.transfer.load("w1", kept[:3])
    assert await used(limited) == await counted(database) == Usage(3, 3)
