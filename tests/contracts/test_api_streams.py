"""Streams, groups and dead letters through the API, with the housekeeper's work on them, on every stream server."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from openbrain.auth import Permission
from openbrain.client import OpenBrain
from openbrain.memory import MICROSECONDS, State
from openbrain.ports.generations import IndexKind
from openbrain.settings import Streams
from openbrain.streams.administration import RedisStreams
from openbrain.streams.connection import connect
from openbrain.streams.redelivery import Redelivery
from openbrain.streams.table import STORED, SUBMITTED, dead_letters, replays
from openbrain_api.routes import ROUTES
from openbrain_housekeeper.operating import Worker
from openbrain_housekeeper.redelivering import steps
from tests.api_support import Brain, brain, brain_database_url, http, refused, remembered
from tests.bad_stream_inputs import full
from tests.streams_support import memory_id, scaled, stored

__all__ = ["brain", "brain_database_url"]

WORDS = "the vault opens at Xyzzyqwertz"
OURS = [route for route in ROUTES if route.path.startswith(("/v1/admin/streams", "/v1/admin/groups", "/v1/admin/dead"))]


@dataclass
class Operator:
    """An operator's client, the server below it, and the housekeeper's worker."""

    brain: Brain
    client: httpx.AsyncClient
    redis: Any
    settings: Streams

    @property
    def stream(self) -> str:
        return self.settings.prefix + STORED.name

    def worker(self, name: str = "one") -> Worker:
        made = steps(Redelivery(self.redis, self.settings), self.brain.truth, _at_once)
        return Worker(self.brain.truth, made, name, hold_s=30, pace_s=0)

    async def work(self, operation_id: str, rounds: int = 50) -> dict[str, Any]:
        """Until the operation has ended, as one worker."""
        worker = self.worker()
        for _ in range(rounds):
            found = await self.operation(operation_id)
            if found["finished_at"]:
                return found
            await worker.round()
            self.brain.clock.advance(MICROSECONDS)
        return await self.operation(operation_id)

    async def operation(self, operation_id: str) -> dict[str, Any]:
        return dict((await self.client.get(f"/v1/admin/operations/{operation_id}")).json())

    async def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = await self.client.post(f"/v1/admin/{path}", json=body)
        assert answer.status_code in (200, 202), answer.text
        return dict(answer.json())

    async def die(self, body: bytes, group: str = "embedder", stream: str = STORED.name, error: str = "Refused") -> str:
        """Put a dead letter; its id."""
        fields = {"__data__": body, "stream": stream, "group": group, "entry": "1-0", "error": error, "attempts": 4}
        entry = await self.redis.xadd(dead_letters(self.settings.prefix + stream, group), fields)
        return f"{stream}.{group}.{entry.decode()}"


async def _at_once(_: float) -> None:
    """Rates are looked at where they are counted."""


@pytest.fixture(params=("valkey", "redis"))
async def operator(request: pytest.FixtureRequest, brain: Brain) -> AsyncIterator[Operator]:
    settings = scaled(str(request.getfixturevalue(f"{request.param}_server").url))
    redis: Redis = connect(settings)
    key = await brain.key("system", permissions=frozenset(Permission))
    async with http(brain.app(streams=RedisStreams(settings, redis)), key) as client:
        yield Operator(brain, client, redis, settings)
    keys: Any = await redis.keys(f"{settings.prefix}*")
    if keys:
        await redis.delete(*keys)
    await redis.aclose()


async def test_streams_are_for_operators_alone(operator: Operator, capsys: pytest.CaptureFixture[str]) -> None:
    """A tenant's admin is told nothing, whether there is something or not."""
    letter = await operator.die(_submission(), "ingest", SUBMITTED.name)
    tenant = await operator.brain.key("w1", permissions=frozenset(Permission))
    bodies = full("because")
    app = operator.brain.app(streams=RedisStreams(operator.settings, operator.redis))
    async with http(app, tenant) as client, http(app) as nobody:
        for route in OURS:
            query = {"stream": STORED.name, "group": "embedder"} if route.method == "DELETE" else {"body": "1"}
            told = []
            for name in (letter, "memory.submitted.ingest.1-0"):
                path = route.path.replace("{letter}", name)
                answer = await client.request(route.method, path, json=bodies.get(route.path), params=query)
                refused(answer, 403)
                told.append(answer.text)
                assert (await nobody.request(route.method, path, json=bodies.get(route.path))).status_code == 401
            assert told[0] == told[1]
            assert WORDS not in told[0]
    assert len(OURS) == 11
    assert WORDS not in "".join(capsys.readouterr())


async def test_each_stream_is_shown_with_its_groups(operator: Operator) -> None:
    for number in range(3):
        await operator.redis.xadd(operator.stream, {"__data__": stored(number)})
    await operator.post("groups:pause", group="embedder", reason="the model is moved")
    found = (await operator.client.get("/v1/admin/streams", params={"stream": STORED.name})).json()
    everything = (await operator.client.get("/v1/admin/streams")).json()

    (stream,) = found["streams"]
    assert [(each["name"], each["lag"], each["paused"]) for each in stream["groups"]] == [
        ("embedder", 3, True),
        ("indexer-text", 3, False),
    ]
    assert stream["begins_at"] is not None
    assert everything["count"] == len(everything["streams"]) > 10
    refused(await operator.client.get("/v1/admin/streams", params={"stream": "memory.unknown"}), 422, "stream")


async def test_a_pause_says_who_and_why_and_ends(operator: Operator) -> None:
    made = await operator.post("groups:pause", group="embedder", reason="the model is moved")
    again = await operator.post("groups:pause", group="embedder", reason="mine")
    ended = await operator.post("groups:resume", group="embedder")

    assert (made["paused"], made["reason"], made["actor"]) == (True, "the model is moved", "ada")
    assert again["reason"] == "the model is moved"
    assert ended["paused"] is False
    assert await operator.brain.truth.pauses() == []


async def test_a_replay_is_counted_worked_off_and_taken_up_after_a_kill(operator: Operator) -> None:
    for number in range(500):
        await operator.redis.xadd(operator.stream, {"__data__": stored(number)})
    looked = await operator.post("streams:replay", stream=STORED.name, group="embedder", dry_run=True)
    begun = await operator.post("streams:replay", stream=STORED.name, group="embedder", rate=400)
    again = replays(operator.stream, "embedder")
    assert (looked["count"], looked["operation"], looked["begins_id"]) == (500, None, begun["begins_id"])
    assert begun["operation"]["total"] == 500

    dying = operator.worker("dying")
    assert await dying.round() == 1
    assert await operator.redis.xlen(again) == 100, "a quarter of a second of 400"
    # Killed in a step that it did not write down: that comes twice, and nothing is left out.
    held = await operator.brain.truth.hold_operation("dying", 30, ["replay"])
    assert held is not None
    await steps(Redelivery(operator.redis, operator.settings), operator.brain.truth, _at_once)["replay"](held)
    operator.brain.clock.advance(31 * MICROSECONDS)
    waiting = await operator.work(begun["operation"]["id"])
    assert (waiting["status"], waiting["done"]) == ("running", 0)
    assert "not settled" in waiting["result"]["waits_for"]

    entries = await operator.redis.xrange(again)
    numbers = [int(json.loads(fields[b"__data__"])["id"]) for _, fields in entries]
    assert sorted(set(numbers)) == list(range(500))
    assert len(numbers) == 600
    await operator.redis.xreadgroup("embedder", "c", {again: ">"}, count=1000)
    await operator.redis.xack(again, "embedder", *(entry for entry, _ in entries))
    ended = await operator.work(begun["operation"]["id"])
    assert (ended["status"], ended["done"], ended["total"]) == ("done", 500, 500)
    assert not await operator.redis.exists(again)


async def test_a_replay_from_a_time_and_to_an_id(operator: Operator) -> None:
    for second in range(10):
        await operator.redis.xadd(
            operator.stream, {"__data__": stored(second)}, id=f"{1_800_000_000_000 + second * 1000}-0"
        )
    asked = {"stream": STORED.name, "from": "2027-01-15T08:00:02Z", "to": "1800000005000-0", "dry_run": True}
    looked = await operator.post("streams:replay", **asked)

    assert (looked["count"], looked["groups"]) == (4, ["embedder", "indexer-text"])
    assert looked["begins_at"].startswith("2027-01-15T08:00:00")
    empty = await operator.post("streams:replay", stream="memory.superseded")
    assert (empty["count"], empty["operation"], empty["begins_id"]) == (0, None, None)


async def test_a_cancelled_replay_is_tidied_once_it_is_settled(operator: Operator) -> None:
    await operator.redis.xadd(operator.stream, {"__data__": stored(1)})
    begun = await operator.post("streams:replay", stream=STORED.name, group="embedder")
    await operator.worker().round()
    await operator.client.post(f"/v1/admin/operations/{begun['operation']['id']}:cancel")
    operator.brain.clock.advance(2 * MICROSECONDS)
    assert (await operator.work(begun["operation"]["id"]))["status"] == "cancelled"
    again, work = replays(operator.stream, "embedder"), Redelivery(operator.redis, operator.settings)
    await work.tidy()
    assert await operator.redis.exists(again)
    ((_, entries),) = await operator.redis.xreadgroup("embedder", "c", {again: ">"})
    await operator.redis.xack(again, "embedder", entries[0][0])
    await work.tidy()
    assert not await operator.redis.exists(again)


async def test_a_dead_letter_given_again_is_no_failure_of_its_memory(operator: Operator) -> None:
    app = operator.brain.app()
    async with http(app, await operator.brain.key()) as ada:
        failed, other = await remembered(ada, "cannot be indexed", "neither can this")
    truth = operator.brain.truth
    for each in (failed, other):
        await truth.record_failure(IndexKind.TEXT, each, "Refused: no")
    letter = await operator.die(stored(1).replace(memory_id(1).encode(), failed.encode()), "indexer-text")
    await operator.die(stored(2).replace(memory_id(2).encode(), other.encode()), "indexer-text", error="Odd")

    looked = await operator.post("dead:replay", group="indexer-text", error="Refused")
    assert (looked["dry_run"], looked["count"], looked["sample"], looked["operation"]) == (True, 1, [letter], None)
    begun = await operator.post("dead:replay", group="indexer-text", error="Refused", dry_run=False)
    ended = await operator.work(begun["operation"]["id"])
    rows = await truth.rows([failed, other])

    assert (ended["status"], ended["done"], ended["result"]) == ("done", 1, {"delivered": 1})
    assert [rows[each].state(operator.brain.clock.now()) for each in (failed, other)] == [State.CREATED, State.FAILED]
    assert await operator.redis.xlen(replays(operator.stream, "indexer-text")) == 1
    refused(await operator.client.get(f"/v1/admin/dead/{letter}"), 404)


async def test_what_dies_again_meanwhile_is_left_for_the_next_time(operator: Operator) -> None:
    """Else a replay of what can't be delivered would never end."""
    for number in range(150):
        await operator.die(stored(number))
    begun = await operator.post("dead:replay", all=True, dry_run=False)
    worker = operator.worker()
    await worker.round()
    for number in range(150):
        await operator.die(stored(number))
    ended = await operator.work(begun["operation"]["id"])

    assert (ended["done"], ended["result"]) == (150, {"delivered": 150})
    assert (await operator.post("dead:discard", all=True))["count"] == 150


async def test_letters_are_listed_without_what_they_hold_and_discarded(
    operator: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    letter = await operator.die(_submission(), "ingest", SUBMITTED.name)
    others = [await operator.die(b"x") for _ in range(3)]
    listed = await operator.client.get("/v1/admin/dead", params={"limit": 2})
    rest = await operator.client.get("/v1/admin/dead", params={"cursor": listed.json()["next_cursor"]})
    plain = await operator.client.get(f"/v1/admin/dead/{letter}")
    whole = await operator.client.get(f"/v1/admin/dead/{letter}", params={"body": "1"})

    found = [each["id"] for page in (listed, rest) for each in page.json()["dead_letters"]]
    assert sorted(found) == sorted([letter, *others])
    assert all(WORDS not in each.text for each in (listed, rest, plain))
    assert WORDS in whole.json()["fields"]["__data__"]

    unknown = "memory.stored.embedder.1-0"
    begun = await operator.post("dead:discard", letters=[letter, others[0], unknown], dry_run=False, reason="a typo")
    ended = await operator.work(begun["operation"]["id"])
    assert (begun["count"], ended["result"]) == (2, {"discarded": 2})
    assert (await operator.client.get("/v1/admin/dead")).json()["count"] == 2
    for name in (unknown, "no-id", "memory.unknown.nobody.1-0"):
        refused(await operator.client.get(f"/v1/admin/dead/{name}"), 404)
    printed = capsys.readouterr()
    assert WORDS not in printed.out + printed.err


async def test_a_burial_says_who_and_why_and_fails_the_row(operator: Operator) -> None:
    async with http(operator.brain.app(), await operator.brain.key()) as ada:
        (memory,) = await remembered(ada, "it hangs")
    body = stored(1).replace(memory_id(1).encode(), memory.encode())
    entry = (await operator.redis.xadd(operator.stream, {"__data__": body})).decode()
    await operator.redis.xgroup_create(operator.stream, "embedder", "0")
    asked = {"stream": STORED.name, "group": "embedder", "entry": entry, "reason": "the model hangs on it"}
    early = await operator.post("streams:bury", **asked)
    failed = await operator.work(early["operation"]["id"])
    assert (failed["status"], "does not hold" in failed["error"]) == ("failed", True)

    await operator.redis.xreadgroup("embedder", "stuck", {operator.stream: ">"})
    begun = await operator.post("streams:bury", **asked)
    ended = await operator.work(begun["operation"]["id"])
    (letter,) = (await operator.client.get("/v1/admin/dead")).json()["dead_letters"]
    row = (await operator.brain.truth.rows([memory]))[memory]
    assert (ended["status"], ended["result"]) == ("done", {"became": "buried"})
    assert (letter["error"], letter["message"]) == ("Buried", "ada: the model hangs on it")
    assert row.vector_error == "Buried: ada: the model hangs on it"


async def test_readers_from_outside_come_and_go(operator: Operator) -> None:
    await operator.redis.xadd(operator.stream, {"__data__": stored(1)})
    made = await operator.post("groups", stream=STORED.name, group="warehouse", reason="nightly")
    again = await operator.post("groups", stream=STORED.name, group="warehouse")
    (stream,) = (await operator.client.get("/v1/admin/streams", params={"stream": STORED.name})).json()["streams"]
    gone = await operator.client.delete(
        "/v1/admin/groups", params={"stream": STORED.name, "group": "warehouse", "destroy": "1"}
    )
    unknown = await operator.client.delete("/v1/admin/groups", params={"stream": STORED.name, "group": "warehouse"})

    assert (made["made"], again["made"]) == (True, False)
    assert [(each["name"], each["readers"]) for each in stream["groups"]][-1] == ("warehouse", "outside")
    assert (gone.json()["destroyed"], gone.json()["lost"]) == (True, 0)
    refused(unknown, 404)
    asked = {"stream": STORED.name, "group": "embedder", "destroy": "1"}
    refused(await operator.client.delete("/v1/admin/groups", params=asked), 422, "group")


async def test_the_typed_client_speaks_of_streams(operator: Operator) -> None:
    key = await operator.brain.key("system", permissions=frozenset(Permission))
    app = operator.brain.app(streams=RedisStreams(operator.settings, operator.redis))
    letter = await operator.die(stored(1))
    async with OpenBrain("http://brain", key, transport=httpx.ASGITransport(app)) as client:
        assert (await client.streams(STORED.name)).streams[0].groups[0].dead_letters == 1
        assert (await client.replay(STORED.name, begin="1-0", rate=5, dry_run=True)).count == 0
        assert (await client.pause_group("tick", reason="x")).paused
        assert not (await client.resume_group("tick")).paused
        assert (await client.register_group(STORED.name, "w", at_end=True)).registered
        assert not (await client.unregister_group(STORED.name, "w")).registered
        assert (await client.dead_letters(group="embedder")).dead_letters[0].id == letter
        assert (await client.dead_letter(letter, body=True)).fields == {"__data__": stored(1).decode()}
        assert (await client.replay_dead([letter])).count == 1
        assert (await client.discard_dead(every=True, reason="x")).dry_run
        assert (await client.bury(STORED.name, "embedder", "1-0", "x")).operation.kind == "bury"


async def test_a_server_that_is_away_is_told(brain: Brain) -> None:
    key = await brain.key("system", permissions=frozenset(Permission))
    async with http(brain.app(), key) as client:
        for path in ("streams", "dead", "dead/memory.stored.embedder.1-0"):
            refused(await client.get(f"/v1/admin/{path}"), 503)


def _submission() -> bytes:
    return json.dumps({"data": {"content": WORDS, "type": "fact"}}).encode()
