"""Webhooks of standing queries: posted in order and at least once, only what the key may see at that time; a failing
webhook does not delay the others."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import NeverRetry, OpenBrainError, TryLater
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY, MICROSECONDS, Memory
from openbrain.ports.agents import Message
from openbrain.ports.http import Address
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.tenants import CLOSE, Workspace
from openbrain.ports.subscriptions import Match, MatchedMemory, QueryWebhook, StandingQuery
from openbrain.usecases.auth import hash_secret, issue, successor
from openbrain_matcher.jobs import webhooks
from openbrain_matcher.jobs.webhooks import Posting, post_due
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, FakeClock, memory, origin, viewer

ADA = Viewer("w1", "ada")
URL = "https://hooks.example.org/in"


@dataclass
class Taker:
    """The receiver: keeps what it was given, or refuses it."""

    posts: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)
    error: OpenBrainError | None = None

    async def post(self, webhook: Address, seq: int, body: bytes) -> None:
        assert (webhook.url, webhook.secret) == (URL, "whsec_1")
        if self.error is not None:
            raise self.error
        event = orjson.loads(body)
        assert event["type"] == "openbrain.memory.matched.v1"
        self.posts.append((webhook.id, seq, event["data"]))

    @property
    def said(self) -> list[str]:
        return [data["content"] for _, _, data in self.posts]


@dataclass(frozen=True)
class World:
    store: SqlStore
    database: Database
    clock: FakeClock
    key: str
    taker: Taker
    posting: Posting

    async def query(self, **changes: Any) -> StandingQuery:
        """Add a standing query with a webhook."""
        given = StandingQuery(
            id=uuid7(START), workspace_id="w1", agent_id="ada", key_id=self.key, query="payments", created_at=START
        )
        made = replace(given, **changes)
        webhook = QueryWebhook(id=made.id, workspace_id="w1", url=URL, secret="whsec_1")
        return await self.store.standing_queries.add_query(made, {}, webhook)

    async def found(self, query: StandingQuery, *rows: Memory) -> None:
        """Deliver matches for these rows, as the matcher does."""
        matches = [
            Match(
                query=query,
                memory_id=row.id,
                revision=row.revision,
                org=row.org,
                content_hash=row.content_hash,
                similarity=0.75,
            )
            for row in rows
        ]
        assert len(await self.store.matches.deliver("w1", matches, [], self.clock.now())) == len(rows)

    async def round(self) -> int:
        return await post_due(self.posting, 9)

    async def progress(self, query: StandingQuery) -> QueryWebhook:
        return (await self.store.query_webhooks.webhooks_of([query.id]))[query.id]


@pytest.fixture
async def world(store: SqlStore, database: Database, clock: FakeClock) -> World:
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=START))
    made, secret = issue(workspace_id="w1", name="k", permissions=frozenset(Permission), now=START)
    await store.api_keys.create_key(made, hash_secret(secret))
    taker = Taker()
    return World(store, database, clock, made.id, taker, Posting(store, taker, clock, (10, 60)))


async def test_one_that_is_removed_is_posted_nothing_more(world: World) -> None:
    rows = [memory(f"m{n}", id=uuid7(START + n)) for n in range(3)]
    await put(world.database, *rows)
    query = await world.query()
    await world.found(query, *rows)

    class Leaving(Taker):
        async def post(self, webhook: Address, seq: int, body: bytes) -> None:
            await super().post(webhook, seq, body)
            await world.store.standing_queries.remove_query(ADA, query.id)

    taker = Leaving()
    await post_due(Posting(world.store, taker, world.clock, (10, 60)), 9)
    assert taker.said == ["m0"]


async def test_each_match_is_posted_once_in_order_and_nothing_else(world: World) -> None:
    rows = [memory(f"m{n}", id=uuid7(START + n)) for n in range(3)]
    await put(world.database, *rows)
    before, query = memory("before"), await world.query()
    other = await world.query()
    letter = Message(id=uuid7(START), workspace_id="w1", sender="bo", recipient="ada", content="hi", created_at=START)
    await world.store.messages.send_message(letter, "", 9)
    for row in rows:
        await world.found(query, row)

    assert await world.round() == 2
    assert [(each, seq) for each, seq, _ in world.taker.posts] == [(query.id, 2), (query.id, 3), (query.id, 4)]
    assert world.taker.said == ["m0", "m1", "m2"]
    assert world.taker.posts[0][2]["match"] | {"revision": 1} == {
        "subscription_id": query.id,
        "memory_id": rows[0].id,
        "revision": 1,
        "similarity": 0.75,
        "withdrawn": False,
    }
    assert await world.round() == 0
    done, idle = await world.progress(query), await world.progress(other)
    assert (done.cursor, done.attempts, done.error, done.given_up) == (4, 0, "", 0)
    assert done.delivered_at == world.clock.now()
    assert (idle.cursor, idle.delivered_at) == (4, None)
    assert before.content not in world.taker.said
    late = await world.query()
    assert (await world.progress(late)).cursor == 4
    assert await world.store.standing_queries.remove_query(ADA, query.id)
    assert await world.store.query_webhooks.webhooks_of([query.id]) == {}


async def test_what_is_not_taken_is_tried_again_and_then_given_up(world: World) -> None:
    first, second = memory("first"), memory("second", id=uuid7(START + 9))
    await put(world.database, first, second)
    query = await world.query()
    await world.found(query, first)
    await world.found(query, second)
    world.taker.error = TryLater("it answered 503")

    for wait in (10, 60):
        assert await world.round() == 1
        failed = await world.progress(query)
        assert (failed.cursor, failed.error) == (0, "it answered 503")
        assert failed.next_attempt_at == world.clock.now() + wait * MICROSECONDS
        assert await world.round() == 0
        world.clock.advance(wait * MICROSECONDS)
    await world.round()
    assert (await world.progress(query)).given_up == 1
    world.taker.error = None
    world.clock.advance(10 * MICROSECONDS)
    await world.round()
    assert world.taker.said == ["second"]
    assert len(await world.store.messages.inbox(ADA, 9)) == 2

    third = memory("third", id=uuid7(START + 10))
    await put(world.database, third)
    await world.found(query, third)
    world.taker.error = NeverRetry("a private address")
    await world.round()
    assert ((await world.progress(query)).given_up, (await world.progress(query)).error) == (2, "a private address")


async def test_of_what_ended_meanwhile_no_word_is_posted(world: World) -> None:
    ended, of_other = memory("ended"), memory("moved", id=uuid7(START + 9))
    await put(world.database, ended, of_other)
    query = await world.query(orgs=("",), without_org=True)
    await world.found(query, ended, of_other)
    await world.store.writes.forget(ended.id, viewer(), origin(), "")
    await world.round()

    assert [(data["content"], data["match"]["withdrawn"]) for _, _, data in world.taker.posts] == [
        ("", True),
        ("moved", False),
    ]
    gone = (await world.store.memories.rows([ended.id]))[ended.id]
    assert await world.store.matches.withdraw("w1", [MatchedMemory(gone.id, gone.revision)], START) == 1
    await world.round()
    assert (world.taker.said[2:], world.taker.posts[2][2]["match"]["withdrawn"]) == ([""], True)


async def test_it_ends_with_its_key_and_goes_over_to_the_one_that_replaces_it(world: World) -> None:
    rows = [memory(f"m{n}", id=uuid7(START + n)) for n in range(3)]
    await put(world.database, *rows)
    query = await world.query()
    await world.found(query, rows[0])
    old = await world.store.api_keys.key("w1", world.key)
    assert old is not None
    new, secret = successor(old, START, old.expires_at)
    await world.store.api_keys.replace_key(new, hash_secret(secret), START + 5)
    world.clock.advance(10)
    await world.round()
    assert world.taker.said == ["m0"]

    await world.found(query, rows[1])
    await world.store.api_keys.revoke_key("w1", new.id)
    assert await world.round() == 0
    world.clock.advance(61 * MICROSECONDS)
    assert await world.round() == 0
    assert world.taker.said == ["m0"]


async def test_an_error_at_one_webhook_does_not_post_to_another_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next round must not begin while one is still posting: both would post the same messages, out of order."""
    row = memory("slow")
    await put(world.database, row)
    slow, broken = await world.query(), await world.query(agent_id="bo")
    await world.found(slow, row)
    await world.found(broken, row)
    posting, failed, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    take, last_numbers = world.taker.post, world.store.messages.last_numbers

    async def post(webhook: Address, seq: int, body: bytes) -> None:
        posting.set()
        await go_on.wait()
        await take(webhook, seq, body)

    async def numbers(inboxes: Any) -> Any:
        if ("w1", "bo") in inboxes:
            await posting.wait()
            failed.set()
            raise TryLater("the database is away")
        return await last_numbers(inboxes)

    monkeypatch.setattr(world.taker, "post", post)
    monkeypatch.setattr(world.store.messages, "last_numbers", numbers)
    first = asyncio.create_task(world.round())
    await failed.wait()
    ended, _ = await asyncio.wait({first}, timeout=0.1)
    go_on.set()
    with pytest.raises(TryLater):
        await first

    assert not ended
    assert [each for each, _, _ in world.taker.posts] == [slow.id]


async def test_a_webhook_that_answers_slowly_does_not_hold_up_a_round(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "ROUND_S", 0.0)
    found = [memory(f"m{n}", id=uuid7(START + n)) for n in range(3)]
    await put(world.database, *found)
    query = await world.query()
    for row in found:
        await world.found(query, row)

    posted = []
    for _ in range(4):
        await world.round()
        posted.append(list(world.taker.said))
    assert posted == [["m0"], ["m0", "m1"], ["m0", "m1", "m2"], ["m0", "m1", "m2"]]


async def test_an_attempt_planned_by_a_clock_that_was_ahead_is_due(world: World) -> None:
    row, query = memory("m", id=uuid7(START)), await world.query()
    await put(world.database, row)
    await world.found(query, row)
    world.taker.error = TryLater("the webhook answered 500")
    world.clock.advance(DAY)
    await world.round()
    world.clock.advance(-DAY)
    world.taker.error = None

    assert await world.round() == 1
    assert [seq for _, seq, _ in world.taker.posts] == [1]


async def test_each_has_its_turn_although_more_are_due_than_are_posted_to_at_once(world: World) -> None:
    queries = [await world.query(id=uuid7(START + number)) for number in range(5)]
    for number in range(5):
        row = memory(f"m{number}", id=uuid7(START + number))
        await put(world.database, row)
        for each in queries:
            await world.found(each, row)
        await post_due(world.posting, 2)

    heard = {query_id for query_id, _, _ in world.taker.posts}
    assert heard == {each.id for each in queries}, "new matches for the first do not put off the last"


async def test_nothing_of_a_workspace_that_is_being_deleted_is_posted_or_delivered(world: World) -> None:
    row, other, query = memory("m", id=uuid7(START)), memory("other", id=uuid7(START + 1)), await world.query()
    await put(world.database, row, other)
    await world.found(query, row)
    deletion = Operation(id=uuid7(START), workspace_id="w1", kind=CLOSE, actor="op", request={"workspace": "w1"})
    await world.store.workspaces.close_workspace("w1", deletion)

    await world.round()
    assert world.taker.said == []
    match = Match(query=query, memory_id=other.id, revision=1, org="", content_hash=other.content_hash, similarity=None)
    assert await world.store.matches.deliver("w1", [match], [], world.clock.now()) == []
