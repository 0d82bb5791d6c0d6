"""Writing through the API, on both databases."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import DAY
from openbrain.ports.content import Finding, NamedText
from openbrain.usecases.content.policy import DetectingPolicy
from tests.support.api.brain import Brain, http, offer, refused, remembered, unknown_id
from tests.support.api.transfer import HEADER, NDJSON, as_file, memory_line
from tests.support.store.fixtures import rows

REMEMBER, BATCH = "/v1/brain/remember", "/v1/brain/remember:batch"


@pytest.fixture(params=["sqlite", "mariadb"])
def brain_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "mariadb":
        return str(request.getfixturevalue("mariadb_tables_url"))
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


async def stored(brain: Brain) -> int:
    counted = await rows(brain.store._database, "SELECT count(*) AS n FROM memories")
    return int(counted[0]["n"])


async def test_a_new_memory_is_told_whole_and_not_yet_indexed(brain: Brain) -> None:
    full = offer(
        "Deploys run from main",
        type="convention",
        org=" acme ",
        project="web",
        tags=["ops", "ops", "ci"],
        metadata={"a": {"b": [1, None, "ü"]}},
        source="cli",
        confidence=0.5,
        session_id="s1",
        turn=3,
        speaker="Ada",
        occurred_at="2026-12-24T20:00:00+01:00",
        expires_in=24,
        workspace_id="someone-elses",
        unknown="ignored",
    )
    async with http(brain.app(), await brain.key()) as client:
        response = await client.post(REMEMBER, json=full)

    body = response.json()
    assert response.status_code == 201
    expected = {
        "agent_id": "ada",
        "type": "convention",
        "content": "Deploys run from main",
        "tags": ["ops", "ci"],
        "org": "acme",
        "project": "web",
        "confidence": 0.5,
        "score": None,
        "similarity": None,
        "source": "cli",
        "supersedes_id": None,
        "supersedes_count": 0,
        "expires_at": "2027-01-16T08:00:00.000000Z",
        "deleted_at": None,
        "created_at": "2027-01-15T08:00:00.000000Z",
        "updated_at": "2027-01-15T08:00:00.000000Z",
        "occurred_at": "2026-12-24T19:00:00.000000Z",
        "confirmed_at": "2027-01-15T08:00:00.000000Z",
        "memory_scope": "project",
        "session_id": "s1",
        "turn": 3,
        "speaker": "Ada",
        "title": None,
        "aliases": [],
        "metadata": {"a": {"b": [1, None, "ü"]}},
        "version": 1,
        "state": "created",
        "indexed": False,
        "reason": None,
        "index_error": None,
        "labels": [],
    }
    assert body["data"] == {"id": body["id"], **expected}
    assert {name: body[name] for name in expected} == expected
    assert body["duplicate"] is False


async def test_nulls_are_as_good_as_nothing(brain: Brain) -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        ("org", "project", "tags", "confidence", "source", "supersedes", "expires_in", "metadata")
    )
    async with http(brain.app(), await brain.key()) as client:
        body = (await client.post(REMEMBER, json=offer(**nothing))).json()

    assert (body["org"], body["tags"], body["confidence"], body["source"]) == (None, [], 1.0, "manual")


async def test_the_same_again_is_the_same_memory(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        first = (await client.post(REMEMBER, json=offer("caf\u00e9\r\n"))).json()
        again = await client.post(REMEMBER, json=offer("cafe\u0301", type="plan"))
        wanted = await client.post(REMEMBER, json=offer("caf\u00e9", allow_duplicate=True))

    assert (again.status_code, again.json()["id"], again.json()["duplicate"]) == (200, first["id"], True)
    assert (wanted.status_code, wanted.json()["duplicate"]) == (201, False)
    assert await stored(brain) == 2


async def test_an_idempotency_key_counts_for_its_caller_for_a_day(brain: Brain) -> None:
    key = {"idempotency-key": "k1"}
    twice = offer("twice", allow_duplicate=True)
    async with http(brain.app(), await brain.key()) as client:
        first = (await client.post(REMEMBER, json=twice, headers=key)).json()
        again = await client.post(REMEMBER, json=twice, headers=key)
        other = await client.post(REMEMBER, json=offer("something else"), headers=key)
        brain.clock.advance(DAY + 1)
        later = await client.post(REMEMBER, json=twice, headers=key)
    async with http(brain.app(), await brain.key(agent="bob")) as bob:
        theirs = await bob.post(REMEMBER, json=twice, headers=key)

    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert refused(other, 409)["error"] == "conflict"
    assert later.status_code == 201
    assert theirs.status_code == 201


async def test_superseding_needs_the_head_of_what_one_sees(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (old,) = await remembered(client, "old")
        new = (await client.post(REMEMBER, json=offer("new", supersedes=old))).json()
        late = await client.post(REMEMBER, json=offer("too late", supersedes=old))
        wrong = await client.post(REMEMBER, json=offer("of nothing", supersedes=unknown_id()))
        no_id = await client.post(REMEMBER, json=offer("of nothing", supersedes="the last one"))
        newest = (await client.post(REMEMBER, json=offer("newest", supersedes=new["id"]))).json()

    assert (new["supersedes_id"], new["supersedes_count"]) == (old, 1)
    assert newest["supersedes_count"] == 2
    assert refused(late, 409)["head"] == new["id"]
    refused(wrong, 422, "supersedes")
    assert "must be an id as it was returned" in refused(no_id, 422, "supersedes")["message"]


async def test_two_hundred_at_once_are_one_memory(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        answers = await asyncio.gather(*(client.post(REMEMBER, json=offer("everyone says so")) for _ in range(200)))

    assert sorted({answer.status_code for answer in answers}) == [200, 201]
    assert sum(answer.status_code == 201 for answer in answers) == 1
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert await stored(brain) == 1


async def test_two_hundred_at_once_leave_one_head(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (old,) = await remembered(client, "old")
        offers = [offer(f"new {number}", supersedes=old) for number in range(200)]
        answers = await asyncio.gather(*(client.post(REMEMBER, json=each) for each in offers))
        listed = (await client.get("/v1/brain/list")).json()

    assert sum(answer.status_code == 201 for answer in answers) == 1
    heads = {answer.json()["head"] for answer in answers if answer.status_code == 409}
    assert [each["id"] for each in listed["memories"]] == list(heads)


async def test_a_batch_judges_each_item_alone(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(orgs=("acme",))) as client:
        (old,) = await remembered(client, "old")
        items: list[Any] = [
            offer("first"),
            offer("second", type="rumour"),
            "not an object",
            offer("first"),
            offer("forbidden", org="other"),
            offer("third", supersedes=old),
            offer("fourth", supersedes=old),
            offer("last", occurred_at="2026-01-01T00:00:00"),
            offer("keyed", idempotency_key="k"),
            offer("keyed otherwise", idempotency_key="k"),
        ]
        response = await client.post(BATCH, json={"memories": items})

    results = response.json()["results"]
    assert response.status_code == 200
    assert [each["status"] for each in results] == [
        *("created", "refused", "refused", "duplicate", "refused", "created", "refused", "refused"),
        *("created", "refused"),
    ]
    assert results[3]["id"] == results[0]["id"]
    assert [(each.get("error"), each.get("field")) for each in results if each["status"] == "refused"] == [
        ("validation_error", "type"),
        ("validation_error", None),
        ("forbidden", None),
        ("conflict", None),
        ("validation_error", "occurred_at"),
        ("conflict", None),
    ]
    assert results[6]["head"] == results[5]["id"]
    assert response.json()["count"] == 4
    assert response.json()["data"]["results"] == results
    assert await stored(brain) == 4


async def test_a_batch_sent_twice_with_its_key_stores_nothing_new(brain: Brain) -> None:
    items = {"memories": [offer(f"item {number}", allow_duplicate=True) for number in range(300)]}
    async with http(brain.app(), await brain.key()) as client:
        first = (await client.post(BATCH, json=items, headers={"idempotency-key": "b"})).json()
        again = (await client.post(BATCH, json=items, headers={"idempotency-key": "b"})).json()

    assert [each["id"] for each in again["results"]] == [each["id"] for each in first["results"]]
    assert {each["status"] for each in again["results"]} == {"duplicate"}
    assert await stored(brain) == 300


async def test_the_keys_of_a_batchs_items_are_no_callers_own(brain: Brain) -> None:
    long, parts = "word " * 11_000, {"idempotency-key": "talk"}
    async with http(brain.app(), await brain.key()) as client:
        for own in ("job#0", "job#1", "talk#2"):
            await client.post(REMEMBER, json=offer(f"of {own}"), headers={"idempotency-key": own})
        items = {"memories": [offer("first"), offer("second")]}
        batch = (await client.post(BATCH, json=items, headers={"idempotency-key": "job"})).json()
        whole = await client.post("/v1/thoughts", json={"content": long, "source": "s"}, headers=parts)

    assert [each["status"] for each in batch["results"]] == ["created", "created"]
    assert whole.status_code == 201


async def test_a_key_may_speak_for_others(brain: Brain) -> None:
    app = brain.app()
    own = offer("for bob alone", memory_scope="agent")
    async with http(app, await brain.key(agent="", act_as=("*",), name="gateway")) as gateway:
        mine = (await gateway.post(REMEMBER, json={**own, "agent_id": "bob"})).json()
        headed = (await gateway.post(REMEMBER, json=own, headers={"x-openbrain-agent": "b%C3%B6b"})).json()
        nobody = (await gateway.post(REMEMBER, json=offer("of nobody"))).json()
        as_bob = await gateway.get(f"/v1/brain/memories/{mine['id']}", headers={"x-openbrain-agent": "bob"})
        as_none = await gateway.get(f"/v1/brain/memories/{mine['id']}")
        history = await gateway.get(f"/v1/brain/memories/{nobody['id']}", params={"history": 1})
    async with http(app, await brain.key()) as ada:
        ignored = (await ada.post(REMEMBER, json=offer("says she is bob", agent_id="bob"))).json()

    assert (mine["agent_id"], headed["agent_id"], nobody["agent_id"]) == ("bob", "böb", None)
    assert (as_bob.status_code, as_none.status_code) == (200, 404)
    assert history.json()["history"][0]["actor"] == "gateway"
    assert ignored["agent_id"] == "ada"


class Watching:
    """A detector that finds nothing, and notes how often another task of the event loop has run before each look."""

    def __init__(self) -> None:
        self.turns, self.seen = 0, list[int]()

    def start(self) -> None:
        pass

    async def ready(self) -> bool:
        return True

    def find(self, texts: Sequence[NamedText]) -> Sequence[Sequence[Finding]]:
        self.seen.append(self.turns)
        return [()] * len(texts)

    async def count_turns(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)


@pytest.mark.parametrize("admin", [True, False])
async def test_others_are_served_while_many_texts_are_checked(brain: Brain, *, admin: bool) -> None:
    detector, many = Watching(), [f"text {number}" for number in range(20)]
    key = await brain.key(permissions=frozenset(Permission) if admin else frozenset({Permission.BRAIN_WRITE}))
    file = as_file([HEADER, *(memory_line(text) for text in many)])
    counting = asyncio.create_task(detector.count_turns())
    try:
        async with http(brain.app(content_policy=DetectingPolicy(detector)), key) as client:
            requests: dict[str, dict[str, Any]] = {
                "/v1/brain/import": {"content": file, "headers": NDJSON},
                "/v1/brain/remember:batch": {"json": {"memories": [offer(f"{text} again") for text in many]}},
                "/v1/thoughts:batch": {"json": {"thoughts": [{"content": text} for text in many]}},
            }
            for path, given in requests.items():
                detector.seen.clear()
                response = await client.post(path, **given)
                assert response.status_code == 200, response.text
                assert len(set(detector.seen)) >= len(many), path
    finally:
        counting.cancel()
