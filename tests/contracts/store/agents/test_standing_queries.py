"""Standing queries and their matches: changes are numbered, each memory is delivered once, and none is lost."""

import asyncio
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest
from sqlalchemy import Connection, delete, update

from openbrain.adapters.sql.agents.standing_queries import SqlStandingQueries
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.agent_tables import standing_queries, standing_query_counters
from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, Viewer
from openbrain.domain.errors import Conflict, NeverRetry, NotFound, OpenBrainError, TryLater
from openbrain.domain.ids import joined_hash, uuid7
from openbrain.domain.memory import DAY, Memory, MemoryType, Scope
from openbrain.ports.agents import Message
from openbrain.ports.cleaning import ERASED, CleanText, Party
from openbrain.ports.lifecycle import CLEAN
from openbrain.ports.store.index_entries import Embedded
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.writes import Status
from openbrain.ports.subscriptions import Match, MatchedMemory, QueuedMemory, Replay, StandingQuery
from openbrain.usecases.auth import hash_secret, issue, successor
from openbrain_matcher.jobs.backlog import embed_queries
from openbrain_matcher.matching.books import Books
from tests.contracts.store.work.test_lifecycle import running
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, FakeClock, memory, origin, viewer, write
from tests.support.store.parts import LostResponses

ADA, BO = Viewer("w1", "ada"), Viewer("w1", "bo")
MODEL = "minilm-1"


@pytest.fixture
async def key(store: SqlStore) -> str:
    """The id of a valid key in an existing workspace."""
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=START))
    made, secret = issue(workspace_id="w1", name="k", permissions=frozenset(Permission), now=START)
    await store.api_keys.create_key(made, hash_secret(secret))
    return made.id


def query(key: str, text: str = "payments", **changes: Any) -> StandingQuery:
    given = StandingQuery(
        id=uuid7(START), workspace_id="w1", agent_id="ada", key_id=key, query=text, created_at=START, include_own=True
    )
    return replace(given, **changes)


def match(found: StandingQuery, row: Memory, **changes: Any) -> Match:
    given = Match(
        query=found,
        memory_id=row.id,
        revision=row.revision,
        org=row.org,
        content_hash=row.content_hash,
        similarity=0.75,
    )
    return replace(given, **changes)


def done(*memories: Memory) -> list[MatchedMemory]:
    return [MatchedMemory(each.id, each.revision) for each in memories]


async def delivered(store: SqlStore, *matches: Match, now: int = START) -> int:
    matched = {each.memory_id: MatchedMemory(each.memory_id, each.revision) for each in matches}
    return len(await store.matches.deliver("w1", matches, list(matched.values()), now))


async def inbox(store: SqlStore, viewer: Viewer = ADA) -> list[Message]:
    return list(await store.messages.inbox(viewer, 100))


async def test_a_reader_who_goes_on_behind_a_number_misses_no_change(store: SqlStore, key: str) -> None:
    criteria = Criteria(org="acme", types=(MemoryType.BUG,), scopes=(Scope.SHARED,), tags=("a",), metadata=("k=v",))
    vectors = {MODEL: array("f", (0.6, 0.8))}
    made = [
        await store.standing_queries.add_query(query(key, f"q{n}", orgs=("acme", "beta"), criteria=criteria), vectors)
        for n in range(3)
    ]
    first = await store.standing_queries.changed_queries("w1", 0, 2)
    assert [*first, *await store.standing_queries.changed_queries("w1", first[-1].change_seq, 9)] == made
    assert await store.standing_queries.last_changes(["w1", "w2"]) == {"w1": made[-1].change_seq}
    assert await store.standing_queries.query_vectors([made[0].id]) == {made[0].id: vectors}

    assert [each.id for each in await store.standing_queries.without_vector("other", 2)] == sorted(
        each.id for each in made
    )[:2]
    await store.standing_queries.save_query_vectors("other", {made[0].id: array("f", (1, 0)), uuid7(START): array("f")})
    assert await store.standing_queries.remove_query(ADA, made[1].id)
    assert not await store.standing_queries.remove_query(ADA, made[1].id)
    changed = await store.standing_queries.changed_queries("w1", made[-1].change_seq, 9)
    assert [(each.id, each.deleted_at) for each in changed] == [(made[0].id, None), (made[1].id, START)]
    assert (changed[1].query, changed[1].criteria) == ("", Criteria())
    assert (await store.standing_queries.query_vectors([made[0].id]))[made[0].id].keys() == {MODEL, "other"}
    assert await store.standing_queries.purge_queries(START + 1, 9) == 1
    assert {each.id for each in await store.standing_queries.queries(ADA, 9)} == {made[0].id, made[2].id}


async def test_there_are_not_more_than_may_be(store: SqlStore, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEY_SUBSCRIPTIONS", 2)
    monkeypatch.setattr(limits, "WORKSPACE_SUBSCRIPTIONS", 3)
    asked = [store.standing_queries.add_query(query(key), {}) for _ in range(4)]
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert [str(each)[:12] for each in results if isinstance(each, Conflict)] == ["this key has"] * 2
    await store.standing_queries.add_query(query("another"), {})
    with pytest.raises(Conflict, match="workspace"):
        await store.standing_queries.add_query(query("a third"), {})
    with pytest.raises(NotFound):
        await store.standing_queries.add_query(query(key, workspace_id="w9"), {})


async def test_a_memory_is_delivered_once_and_again_when_it_says_something_else(
    store: SqlStore, database: Database, key: str
) -> None:
    first, row = await store.standing_queries.add_query(query(key), {}), memory("said")
    second = await store.standing_queries.add_query(query(key, agent_id="bo"), {})
    await put(database, row)

    told = await asyncio.gather(*(delivered(store, match(first, row), match(second, row)) for _ in range(3)))
    assert sorted(told) == [0, 0, 2]
    (one,) = await inbox(store)
    assert (one.seq, one.memory_id, one.subscription_id, one.content) == (1, row.id, first.id, "")
    assert (one.similarity, one.memory_revision, one.org) == (0.75, 1, "")
    assert [each.subscription_id for each in await inbox(store, BO)] == [second.id]

    assert await store.messages.mark_read(ADA, [one.id]) == 1
    await database.write(lambda connection: connection.execute(update(memories).values(revision=2)).rowcount)
    assert await delivered(store, match(first, row)) == 0
    assert await delivered(store, match(first, row, revision=2)) == 0
    assert await delivered(store, match(first, row, revision=2, content_hash="other")) == 1
    (again,) = await inbox(store)
    assert (again.id, again.seq, again.read_at, again.memory_revision) == (one.id, 2, None, 2)


async def test_what_ends_is_withdrawn_and_what_is_erased_is_gone(store: SqlStore, key: str) -> None:
    made = await store.standing_queries.add_query(query(key), {})
    outcomes = await store.writes.remember([write(f"m{n}") for n in range(2)])
    ended, erased = [each.memory for each in outcomes if each.memory is not None]
    assert await delivered(store, match(made, ended), match(made, erased)) == 2
    await store.writes.forget(ended.id, viewer(), origin(), "")
    await store.writes.erase(erased.id, viewer(), origin(), "")

    (one,) = await inbox(store)
    waiting = await store.matches.queued(START, 9)
    assert {each.memory_id for each in waiting} == {ended.id, erased.id}
    gone = [MatchedMemory(each.memory_id, each.revision) for each in waiting]
    assert await store.matches.withdraw("w1", gone, START + 5) == 1
    assert await store.matches.withdraw("w1", gone, START + 6) == 0
    (after,) = await inbox(store)
    assert (after.id, after.seq > one.seq, after.withdrawn_at, after.read_at) == (one.id, True, START + 5, START + 5)
    assert await store.matches.queued(START, 9) == []
    assert await delivered(store, match(made, ended)) == 0


async def test_what_was_embedded_waits_in_the_queue_until_it_was_matched(
    store: SqlStore, database: Database, key: str
) -> None:
    async def embedded(row: Memory) -> None:
        own = Embedded(memory_id=row.id, workspace_id="w1", revision=row.revision, input_hashes=(joined_hash("a"),))
        await store.vectors.save({joined_hash("a"): array("f", (1, 0))}, [own], MODEL)

    before, row = memory("unheard"), memory("heard")
    await put(database, before, row)
    await embedded(before)
    await store.standing_queries.add_query(query(key), {})
    await embedded(row)

    assert await store.matches.queued(START, 9) == []
    queued = [QueuedMemory(row.id, "w1", 1, MODEL)]
    assert await store.matches.queued(START + DAY, 9) == queued
    assert await store.matches.deliver("w2", [], done(row), START) == []
    assert await store.matches.deliver("w1", [], [MatchedMemory(row.id, 0)], START) == []
    assert await store.matches.queued(START + DAY, 9) == queued
    assert await store.matches.deliver("w1", [], done(row), START) == []
    assert await store.matches.queued(START + DAY, 9) == []


async def test_what_wants_no_vector_waits_from_its_write_on(store: SqlStore, key: str) -> None:
    await store.standing_queries.add_query(query(key), {})
    (plain, wanted) = await store.writes.remember([write("plain", wants_vector=False), write("wanted")])
    assert (plain.status, wanted.status) == (Status.CREATED, Status.CREATED)
    assert plain.memory is not None

    assert await store.matches.queued(START, 9) == [QueuedMemory(plain.memory.id, "w1", 1, "")]


async def test_a_query_ends_with_its_key_and_goes_over_to_the_one_that_replaces_it(
    store: SqlStore, database: Database, clock: FakeClock, key: str
) -> None:
    made = await store.standing_queries.add_query(query(key), {})
    old = await store.api_keys.key("w1", key)
    assert old is not None
    new, secret = successor(old, START, old.expires_at)
    contents = [memory(f"m{n}") for n in range(3)]
    await put(database, *contents)
    await store.api_keys.replace_key(new, hash_secret(secret), START + 5)

    assert await delivered(store, match(made, contents[0]), now=START + 5) == 1
    kept = await store.standing_queries.query(ADA, made.id)
    assert kept is not None
    assert kept.key_id == new.id
    clock.advance(10)
    await store.api_keys.revoke_key("w1", new.id)
    assert await delivered(store, match(made, contents[1]), now=START + 10) == 0
    assert await delivered(store, match(made, contents[2]._replace(id=uuid7(START)))) == 0


async def test_matches_are_no_letters(store: SqlStore, database: Database, key: str) -> None:
    """Matches do not count against a sender's inbox limit, belong to no conversation, and are deleted with their
    query."""
    made, row = await store.standing_queries.add_query(query(key), {}), memory("said", org="acme")
    await put(database, row)
    await delivered(store, match(made, row))
    letter = Message(id=uuid7(START), workspace_id="w1", sender="bo", recipient="ada", content="hi", created_at=START)

    assert (await store.messages.send_message(letter, "", 1)).message.seq == 2
    assert await store.messages.conversation(ADA, "", 9) == []
    assert [each.content for each in await inbox(store, Viewer("w1", "ada", orgs=("beta",)))] == ["hi"]
    assert await store.messages.count_unread(ADA) == 2
    assert await store.standing_queries.remove_query(ADA, made.id)
    assert [each.content for each in await inbox(store)] == ["hi"]


async def test_a_replay_goes_on_where_it_stood_and_gives_way_to_another(
    store: SqlStore, database: Database, key: str
) -> None:
    made, row = await store.standing_queries.add_query(query(key), {}), memory("said")
    await put(database, row)
    first = Replay(query=made, since=5, before=(START, ""), again=True)
    await asyncio.gather(*(store.replays.start_replay(first) for _ in range(3)))

    assert await store.replays.replays(9) == [first]
    await store.replays.replayed(first, (START - 5, row.id))
    (later,) = await store.replays.replays(9)
    assert later == replace(first, before=(START - 5, row.id))
    await store.replays.replayed(first, None)
    assert await store.replays.replays_of([made.id, uuid7(START)]) == {made.id: later}
    await store.replays.start_replay(replace(first, again=False))
    await store.replays.replayed(later, None)
    (other,) = await store.replays.replays(9)
    await store.replays.replayed(other, None)
    assert await store.replays.replays(9) == []

    assert await delivered(store, match(made, row)) == 1
    assert len(await store.matches.deliver("w1", [match(made, row)], [], START, again=True)) == 1
    assert [each.seq for each in await inbox(store)] == [2]
    assert await store.messages.last_numbers([("w1", "ada"), ("w1", "bo")]) == {("w1", "ada"): 2}
    await store.replays.start_replay(first)
    await store.standing_queries.remove_query(ADA, made.id)
    assert await store.replays.replays(9) == []
    with pytest.raises(NotFound):
        await store.replays.start_replay(first)


async def test_what_a_query_missed_without_a_vector_is_replayed_even_if_the_job_is_broken_off(
    store: SqlStore, key: str
) -> None:
    """Once it has a vector, nothing else shows that it had none."""
    made = await store.standing_queries.add_query(query(key), {})
    start_replay = AsyncMock(side_effect=TryLater("the database is away"))
    written = AsyncMock(return_value=[SimpleNamespace(model=MODEL, dimensions=2)])
    embedder = SimpleNamespace(embed_queries=AsyncMock(return_value=[array("f", (1, 0))]))
    broken: Any = SimpleNamespace(
        generations=SimpleNamespace(written=written),
        standing_queries=store.standing_queries,
        replays=SimpleNamespace(start_replay=start_replay),
    )
    embedders: Any = SimpleNamespace(for_questions=AsyncMock(return_value=embedder))
    for _ in range(2):
        with suppress(TryLater):
            await embed_queries(broken, embedders, FakeClock())

    assert (await store.standing_queries.query_vectors([made.id])).keys() == {made.id}
    (missed,) = (await store.replays.replays_of([made.id])).values()
    assert (missed.since, missed.again) == (made.created_at, False)


async def test_no_vector_is_stored_of_a_text_that_was_cleaned_while_it_was_embedded(
    store: SqlStore, clock: FakeClock, key: str
) -> None:
    made = await store.standing_queries.add_query(query(key, "what anna pays"), {})
    operation = await running(store, clock, CLEAN)
    await store.cleansing.clean_others(operation, lambda text: text.replace("anna", "[name]"), dry_run=False)
    missed = Replay(query=made, since=START, before=(START + DAY, "z"), again=False)

    await store.standing_queries.save_query_vectors(
        MODEL, {made.id: array("f", [1, 0])}, [missed], texts={made.id: made.query}
    )

    assert await store.standing_queries.query_vectors([made.id]) == {}
    assert [each.id for each in await store.standing_queries.without_vector(MODEL, 9)] == [made.id]
    assert await store.replays.replays(9) == [], "it begins when the query has its vector"


@pytest.mark.parametrize("kind", [NeverRetry, OpenBrainError])
async def test_a_query_that_the_model_fails_on_holds_up_no_other(
    store: SqlStore, key: str, kind: type[OpenBrainError]
) -> None:
    """A text can end the runner of Ollama each time, which is no refusal."""
    made = [await store.standing_queries.add_query(query(key, text), {}) for text in ("one", "poison", "two")]

    async def embed(queries: Sequence[str]) -> Sequence["array[float]"]:
        if "poison" in queries:
            raise kind("it ended twice on one of the inputs, yet answers others")
        return [array("f", [1, 0])] * len(queries)

    written = AsyncMock(return_value=[SimpleNamespace(model=MODEL, dimensions=2)])
    some: Any = SimpleNamespace(
        generations=SimpleNamespace(written=written), standing_queries=store.standing_queries, replays=store.replays
    )
    embedders: Any = SimpleNamespace(for_questions=AsyncMock(return_value=SimpleNamespace(embed_queries=embed)))

    assert await embed_queries(some, embedders, FakeClock()) == 3

    vectors = await store.standing_queries.query_vectors([each.id for each in made])
    assert [[*vectors[each.id][MODEL]] for each in made] == [[1, 0], [0, 0], [1, 0]]


@pytest.mark.parametrize("since", [START - 30 * DAY, START + 30 * DAY])
async def test_what_a_query_missed_is_replayed_with_what_was_asked_for(store: SqlStore, key: str, since: int) -> None:
    made = await store.standing_queries.add_query(query(key), {})
    asked = Replay(query=made, since=since, before=(START + 40 * DAY, "m"), again=True)
    missed = Replay(query=made, since=made.created_at, before=(START + DAY, "z"), again=False)
    await store.replays.start_replay(asked)

    await store.standing_queries.save_query_vectors(MODEL, {made.id: array("f", [1, 0])}, [missed])

    (both,) = await store.replays.replays(9)
    assert (both.since, both.before) == (min(since, START), asked.before), "the memories of both"
    assert both.again, "what was asked for again is delivered again"


async def test_lost_responses_to_commits_add_and_remove_one_query(
    store: SqlStore, database: Database, key: str, clock: FakeClock
) -> None:
    twice = SqlStandingQueries(cast("Database", LostResponses(database)), clock)

    added = await twice.add_query(query(key), {MODEL: array("f", [1, 0])})

    assert await store.standing_queries.queries(ADA, 9) == [added]
    assert await store.standing_queries.last_changes(["w1"]) == {"w1": added.change_seq}
    assert [await twice.remove_query(ADA, added.id) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("clean", [lambda text: text.replace("anna", "[name]"), lambda _: ERASED])
async def test_a_query_whose_text_was_cleaned_has_no_vector_of_its_former_text(
    store: SqlStore, clock: FakeClock, key: str, clean: CleanText
) -> None:
    cleaned = await store.standing_queries.add_query(query(key, "what anna pays"), {MODEL: array("f", [1, 0])})
    other = await store.standing_queries.add_query(query(key, "", agent_id="bo"), {MODEL: array("f", [0, 1])})
    operation = await running(store, clock, CLEAN)
    party = Party(agents=("ada",))

    await store.cleansing.clean_others(operation, clean, dry_run=True, party=party)
    assert (await store.standing_queries.query_vectors([cleaned.id])).keys() == {cleaned.id}
    await store.cleansing.clean_others(operation, clean, dry_run=False, party=party)

    assert (await store.standing_queries.query_vectors([cleaned.id, other.id])).keys() == {other.id}
    (told,) = await store.standing_queries.changed_queries("w1", other.change_seq, 9)
    assert (told.id, told.query) == (cleaned.id, clean("what anna pays")), "its readers hear of the change"
    assert (await store.standing_queries.last_changes(["w1"]))["w1"] == told.change_seq
    lacking = [each.id for each in await store.standing_queries.without_vector(MODEL, 9)]
    assert lacking == ([] if told.query == ERASED else [cleaned.id]), "nothing is near an erased text"


async def test_a_matcher_reads_the_queries_of_a_database_that_was_put_back(
    store: SqlStore, database: Database, clock: FakeClock, key: str
) -> None:
    kept = await store.standing_queries.add_query(query(key), {})
    for _ in range(2):
        await store.standing_queries.add_query(query(key, "lost"), {})
    books = Books(store.standing_queries, clock)
    assert len((await books.fresh(["w1"]))["w1"]) == 3

    def put_back(connection: Connection) -> int:
        rows, counter = standing_queries.c, standing_query_counters
        connection.execute(update(counter).values(change_seq=kept.change_seq, queries=1))
        return connection.execute(delete(standing_queries).where(rows.change_seq > kept.change_seq)).rowcount

    await database.write(put_back)
    added = await store.standing_queries.add_query(query(key, "", agent_id="bo"), {})

    book = (await books.fresh(["w1"]))["w1"]
    assert [each.query.id for each in book.find(memory("anything"), (), MODEL)] == [added.id]
    assert len(book) == 2
