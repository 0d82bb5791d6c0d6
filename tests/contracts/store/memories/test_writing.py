"""Remembering, on both databases: once, in order, with audit and events, whatever other writes do."""

from typing import Any

import orjson
import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.errors import Conflict, Invalid
from openbrain.domain.memory import DAY, Reason, Scope
from openbrain.ports.store.writes import Outcome, Status, Write
from tests.support.store.fixtures import START, FakeClock, announced, memory, origin, row, rows, stored, viewer, write


def statuses(outcomes: Any) -> list[str]:
    return [outcome.status.value for outcome in outcomes]


def ids(outcomes: Any) -> list[str | None]:
    return [outcome.memory and outcome.memory.id for outcome in outcomes]


async def count(database: Database, table: str) -> int:
    return int((await rows(database, f"SELECT COUNT(*) AS n FROM {table}"))[0]["n"])


async def test_a_memory_is_stored_whole_with_audit_and_event(database: Database, writing: SqlMemoryWrites) -> None:
    given = memory(
        "Über \N{BRAIN} 'quotes' \"and\" \\backslashes % \n lines",
        org="acme",
        project="apollo",
        session_id="s",
        turn=0,
        speaker="bo",
        source="import",
        tags=("x", "Ÿ"),
        metadata={"a": [1, None, 0.5]},
        confidence=0.0,
        expires_at=START + DAY,
        wants_vector=False,
    )
    told = origin("key one", traceparent="00-trace")
    assert await writing.remember([Write(memory=given, viewer=viewer(), origin=told)]) == [
        Outcome(Status.CREATED, given)
    ]
    assert await row(database, given.id) == given
    (line,) = await rows(database, "SELECT * FROM memory_history")
    assert (line["memory_id"], line["workspace_id"], line["version"], line["revision"]) == (given.id, "w1", 1, 1)
    assert (line["action"], line["actor"], line["at"], line["before"]) == ("created", "key one", START, None)
    after = orjson.loads(line["after"])
    assert after["content"] == given.content
    assert (after["tags"], after["turn"], after["confidence"], after["wants_vector"]) == (["x", "Ÿ"], 0, 0.0, False)
    assert await announced(database) == [
        {
            "stream": "memory.stored",
            "memory_id": given.id,
            "workspace_id": "w1",
            "version": 1,
            "revision": 1,
            "change": "created",
            "traceparent": "00-trace",
        }
    ]


async def test_the_same_again_answers_the_first(database: Database, writing: SqlMemoryWrites) -> None:
    first = await stored(writing)
    again = await writing.remember([write(), write(agent_id="bo")])
    assert statuses(again) == ["duplicate", "duplicate"]
    assert ids(again) == [first.id, first.id]
    assert again[0].memory == first
    assert [await count(database, table) for table in ("memories", "memory_history", "outbox")] == [1, 1, 1]


@pytest.mark.parametrize(
    "other",
    [
        *({"workspace_id": "w2"}, {"org": "o"}, {"project": "p"}, {"session_id": "s"}, {"turn": 0}),
        *({"memory_scope": Scope.SHARED}, {"memory_scope": Scope.AGENT}),
    ],
)
async def test_the_same_words_elsewhere_are_another_memory(writing: SqlMemoryWrites, other: dict[str, Any]) -> None:
    assert statuses(await writing.remember([write(), write(**other), write(**other)])) == [
        *("created", "created", "duplicate")
    ]


@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.SESSION])
async def test_what_one_agent_sees_is_told_apart_by_agent(writing: SqlMemoryWrites, scope: Scope) -> None:
    mine: dict[str, Any] = {"memory_scope": scope, "session_id": "s"}
    outcomes = await writing.remember([write(**mine), write(**mine, agent_id="bo"), write(**mine, agent_id="ADA")])
    assert statuses(outcomes) == ["created"] * 3


async def test_names_and_contents_compare_byte_for_byte(writing: SqlMemoryWrites) -> None:
    spellings = ["a", "A", "a ", " a", "á", "a\N{COMBINING ACUTE ACCENT}", "ａ", "ß", "ss", "\N{BRAIN}"]  # noqa: RUF001
    contents = await writing.remember([write(spelling) for spelling in spellings])
    projects = await writing.remember([write(project=spelling) for spelling in spellings])
    keys = await writing.remember([write("keyed " + each, idempotency_key=each) for each in spellings])
    assert {*statuses(contents), *statuses(projects), *statuses(keys)} == {"created"}


async def test_a_batch_is_answered_in_order_and_repeats_follow_their_first(
    database: Database, writing: SqlMemoryWrites
) -> None:
    old = await stored(writing, "old")
    outcomes = await writing.remember([write(word) for word in ("b", "a", "b", "old", "c", "a")])
    assert statuses(outcomes) == ["created", "created", "duplicate", "duplicate", "created", "duplicate"]
    found = ids(outcomes)
    assert (found[2], found[3], found[5]) == (found[0], old.id, found[1])
    assert [outcome.memory.content for outcome in outcomes if outcome.memory] == ["b", "a", "b", "old", "c", "a"]
    assert [await count(database, table) for table in ("memories", "memory_history", "outbox")] == [4, 4, 4]


async def test_duplicates_that_are_asked_for(writing: SqlMemoryWrites) -> None:
    outcomes = await writing.remember([write(), write(allow_duplicate=True), write(allow_duplicate=True), write()])
    assert statuses(outcomes) == ["created", "created", "created", "duplicate"]
    assert ids(outcomes)[3] == ids(outcomes)[0]


async def test_a_submission_by_stream_hears_of_its_duplicate(database: Database, writing: SqlMemoryWrites) -> None:
    by_stream: dict[str, Any] = {"origin": origin(causation_id="event-1", traceparent="00-t")}
    first = await stored(writing, **by_stream)
    await writing.remember([write(**by_stream), write("new", **by_stream), write("new", **by_stream), write("new")])
    told = sorted((each["change"], each["causationid"], each["traceparent"]) for each in await announced(database))
    assert told == [("created", "event-1", "00-t")] * 2 + [("duplicate", "event-1", "00-t")] * 2
    assert {each["memory_id"] for each in await announced(database) if each["change"] == "duplicate"} >= {first.id}


async def test_what_left_recall_is_in_nobodys_way(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    forgotten = await stored(writing, "f")
    await writing.forget(forgotten.id, viewer(), origin(), "")
    superseded = await stored(writing, "s")
    await stored(writing, "t", supersedes_id=superseded.id)
    await stored(writing, "e", expires_at=START + 10)
    clock.advance(10)
    assert await SqlMemoryWrites(database, clock).expire_due(10, clock.now()) == 1
    assert statuses(await writing.remember([write("f"), write("s"), write("e")])) == ["created"] * 3


async def test_a_due_memory_gives_way_to_the_same_again(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    due = await stored(writing, expires_at=START + 10)
    clock.advance(9)
    assert ids(await writing.remember([write()])) == [due.id]
    clock.advance(1)
    new, repeat, other = await writing.remember([write(), write(), write("other")])
    assert statuses([new, repeat, other]) == ["created", "duplicate", "created"]
    assert ids([repeat]) == ids([new]) != [due.id]
    ended = await row(database, due.id)
    assert (ended.reason, ended.deleted_at, ended.revision) == (Reason.EXPIRED, None, 2)
    events = await announced(database)
    assert {
        "stream": "memory.superseded",
        "memory_id": due.id,
        "workspace_id": "w1",
        "revision": 2,
        "reason": "expired",
    } in events
    lines = await rows(database, "SELECT * FROM memory_history WHERE memory_id = :id ORDER BY id", id=due.id)
    assert [(line["action"], line["actor"]) for line in lines] == [("created", "ada"), ("expired", "openbrain")]


BAD: list[dict[str, Any]] = [{"type": None}, {"turn": 2**70}, {"source": "\ud800"}, {"metadata": {"x": object()}}]


@pytest.mark.parametrize("bad", BAD, ids=["null", "number", "surrogate", "object"])
async def test_one_bad_memory_fails_alone(database: Database, writing: SqlMemoryWrites, bad: dict[str, Any]) -> None:
    old = await stored(writing, "old")
    batch = [write("a"), write("a secret", **bad, idempotency_key="k"), write("b"), write("old"), write("a")]
    outcomes = await writing.remember(batch)
    assert statuses(outcomes) == ["created", "refused", "created", "duplicate", "duplicate"]
    assert isinstance(outcomes[1].error, Invalid)
    assert "secret" not in str(outcomes[1].error)
    assert (ids(outcomes)[3], ids(outcomes)[4]) == (old.id, ids(outcomes)[0])
    assert [await count(database, table) for table in ("memories", "memory_history", "outbox")] == [3, 3, 3]
    assert await count(database, "idempotency_keys") == 0
    assert statuses(await writing.remember([write("good", idempotency_key="k")])) == ["created"]


async def test_a_repeated_attempt_is_no_second_effect(database: Database, writing: SqlMemoryWrites) -> None:
    """The caller did not receive the answer, and repeats the very same writes."""
    batch = [write("a"), write("b", allow_duplicate=True), write("c", idempotency_key="k"), write("a")]
    first = await writing.remember(batch)
    again = await writing.remember(batch)
    assert statuses(again) == statuses(first) == ["created", "created", "created", "duplicate"]
    assert ids(again) == ids(first)
    assert [await count(database, table) for table in ("memories", "memory_history", "outbox")] == [3, 3, 3]


async def test_a_batch_larger_than_a_statement_may_be(database: Database, writing: SqlMemoryWrites) -> None:
    batch = [write(f"{number:05}" + "\N{BRAIN}" * 49_995) for number in range(120)]
    assert set(statuses(await writing.remember(batch))) == {"created"}
    assert set(statuses(await writing.remember([*batch[:50], write("x")]))) == {"created"}
    assert await count(database, "memory_history") == 121


async def test_events_keep_their_bytes(database: Database, writing: SqlMemoryWrites) -> None:
    odd = "wörk'sp\\ace \N{BRAIN}"
    await stored(writing, workspace_id=odd, viewer=viewer(odd), origin=origin(causation_id=odd))
    (event,) = await announced(database)
    assert (event["workspace_id"], event["causationid"]) == (odd, odd)


async def test_nothing_to_remember(writing: SqlMemoryWrites) -> None:
    assert list(await writing.remember([])) == []


async def test_parts_are_stored_all_or_none(database: Database, writing: SqlMemoryWrites) -> None:
    def parts(texts: str) -> list[Write]:
        return [write(text, identity=text * 64) for text in texts]

    first = await writing.remember(parts("abc"), whole=True)
    await stored(writing, "x", idempotency_key="k")
    for texts, expected in (("abc", ids(first)), ("abcd", ids(first)[:1] * 4)):
        again = await writing.remember(parts(texts), whole=True)
        assert (statuses(again), ids(again)) == (["duplicate"] * len(texts), expected)
    refused = await writing.remember([*parts("e"), write("f", idempotency_key="k")], whole=True)
    assert all(isinstance(outcome.error, Conflict) for outcome in refused)
    assert await count(database, "memories") == await count(database, "memory_history") == 4
    assert statuses(await writing.remember(parts("e"), whole=True)) == ["created"], "nothing of it was left"


# Idempotency keys


async def test_a_key_answers_what_it_answered(database: Database, writing: SqlMemoryWrites) -> None:
    first = await stored(writing, "a", idempotency_key="k")
    again = await writing.remember([write("a", idempotency_key="k", allow_duplicate=True, org="elsewhere")])
    assert (statuses(again), ids(again)) == (["duplicate"], [first.id])
    (other,) = await writing.remember([write("b", idempotency_key="k")])
    assert isinstance(other.error, Conflict)
    assert statuses(await writing.remember([write("b", idempotency_key="k", workspace_id="w2")])) == ["created"]
    await writing.forget(first.id, viewer(), origin(), "")
    assert ids(await writing.remember([write("a", idempotency_key="k")])) == [first.id]
    assert await count(database, "memories") == 2


async def test_a_key_used_twice_in_one_batch(writing: SqlMemoryWrites) -> None:
    same: dict[str, Any] = {"idempotency_key": "k", "allow_duplicate": True}
    outcomes = await writing.remember([write("a", **same), write("b", **same), write("a", **same)])
    assert statuses(outcomes) == ["created", "refused", "duplicate"]
    assert ids(outcomes)[2] == ids(outcomes)[0]


async def test_a_key_of_a_duplicate_stands_for_the_first(writing: SqlMemoryWrites) -> None:
    first = await stored(writing, "a")
    await writing.remember([write("a", idempotency_key="k")])
    await writing.forget(first.id, viewer(), origin(), "")
    assert ids(await writing.remember([write("a", idempotency_key="k")])) == [first.id]


async def test_a_key_past_its_time_is_free(database: Database, writing: SqlMemoryWrites, clock: FakeClock) -> None:
    first = await stored(writing, "a", idempotency_key="k", idempotency_expires_at=START + 10)
    clock.advance(10)
    later: dict[str, Any] = {"idempotency_key": "k", "idempotency_expires_at": START + 30}
    second, repeat = await writing.remember([write("b", **later), write("b", **later, allow_duplicate=True)])
    assert (second.status, repeat.status) == (Status.CREATED, Status.DUPLICATE)
    assert ids(await writing.remember([write("b", **later)])) == [second.memory and second.memory.id] != [first.id]


async def test_purging_takes_only_keys_past_their_time(
    database: Database, writing: SqlMemoryWrites, clock: FakeClock
) -> None:
    for number in range(10):
        await stored(writing, str(number), idempotency_key=str(number), idempotency_expires_at=START + number)
    clock.advance(6)
    upkeep = SqlMemoryWrites(database, clock)
    assert [await upkeep.purge_idempotency_keys(4) for _ in range(3)] == [4, 3, 0]
    left = await rows(database, "SELECT expires_at FROM idempotency_keys ORDER BY expires_at")
    assert [each["expires_at"] for each in left] == [START + 7, START + 8, START + 9]
