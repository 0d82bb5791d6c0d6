"""Streams and groups through the API, with the housekeeper doing the work, on every stream server."""

import json

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.events.streams import STORED, SUBMITTED, replays
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.operating.redelivery import Redelivery
from openbrain_api.handlers import ROUTES
from openbrain_housekeeper.handlers.redelivery import steps
from tests.support.api.brain import Brain, http, refused
from tests.support.api.inputs.bad_stream_inputs import full
from tests.support.store.fixtures import age_holds
from tests.support.streams.consumers import stored
from tests.support.streams.operator import WORDS, Operator, at_once, submission

OURS = [route for route in ROUTES if route.path.startswith(("/v1/admin/streams", "/v1/admin/groups", "/v1/admin/dead"))]


async def test_streams_are_for_operators_alone(operator: Operator, capsys: pytest.CaptureFixture[str]) -> None:
    """A tenant's admin learns nothing, whether or not there is something."""
    letter = await operator.die(submission(), "ingest", SUBMITTED.name)
    tenant = await operator.brain.key("w1", permissions=frozenset(Permission))
    bodies = full("because")
    app = operator.brain.app(streams=RedisStreams(operator.settings, operator.redis))
    async with http(app, tenant) as client, http(app) as nobody:
        for route in OURS:
            query = {"stream": STORED.name, "group": "embedder"} if route.method == "DELETE" else {"body": "1"}
            told = []
            for name in (letter, "memory.submitted.ingest.1-0"):
                path = route.path.replace("{id}", name)
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
    assert await operator.brain.store.groups.pauses() == []


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
    # Killed in a step that it did not record: those entries come twice, and none is left out.
    held = await operator.brain.store.operations.hold_operation("dying", 30, ["replay"])
    assert held is not None
    await steps(Redelivery(operator.redis, operator.settings), operator.brain.store.index_marks, at_once)["replay"](
        held
    )
    await age_holds(operator.brain.store, 31)
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
    await age_holds(operator.brain.store, 2)
    assert (await operator.work(begun["operation"]["id"]))["status"] == "cancelled"
    again, work = replays(operator.stream, "embedder"), Redelivery(operator.redis, operator.settings)
    await work.tidy()
    assert await operator.redis.exists(again)
    ((_, entries),) = await operator.redis.xreadgroup("embedder", "c", {again: ">"})
    await operator.redis.xack(again, "embedder", entries[0][0])
    await work.tidy()
    assert not await operator.redis.exists(again)


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
