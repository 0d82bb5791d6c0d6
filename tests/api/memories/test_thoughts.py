"""Thoughts: each turn once and verbatim, found by meaning, order and metadata, and never another agent's."""

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from openbrain.adapters.local.secret_detector import SecretDetector
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain import limits
from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS, Memory
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.writes import Erasure
from openbrain.usecases.content.policy import DetectingPolicy
from tests.support.api.brain import Brain, http, refused, remembered, unknown_id
from tests.support.store.parts import with_parts

THOUGHTS = "/v1/thoughts"
KEY = "ob_" + "Ab1-" * 10 + "Zz9"
LONG = "".join(f"line {number} of a long log\n" for number in range(6_000))


@pytest.fixture
async def ada(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    async with http(brain.app(), await brain.key()) as client:
        yield client


async def add(client: httpx.AsyncClient, content: str, **more: Any) -> dict[str, Any]:
    response = await client.post(THOUGHTS, json={"content": content, **more})
    assert response.status_code in (200, 201), response.text
    answer: dict[str, Any] = response.json()
    return answer


async def listed(client: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    response = await client.get(THOUGHTS, params=query)
    assert response.status_code == 200, response.text
    answer: list[dict[str, Any]] = response.json()
    return answer


def turn(number: int, session: str = "s1", **more: Any) -> dict[str, Any]:
    return {"sessionId": session, "turn": number, "role": "user", **more}


async def test_a_search_names_the_near_equal_thoughts_that_it_leaves_out(brain: Brain, ada: httpx.AsyncClient) -> None:
    texts = ("The relay listens on port 5433", "Note: the relay listens on port 5433!")
    echoes = [(await add(ada, text))["id"] for text in texts]
    other = (await add(ada, "The relay listens on port 5432"))["id"]
    await brain.settle()

    hits = (await ada.post("/v1/search", json={"query": "which port does the relay listen on"})).json()

    by_id = {hit["id"]: hit.get("folded", []) for hit in hits}
    assert by_id.pop(other) == []
    ((shown, folded),) = by_id.items()
    assert {shown, *folded} == set(echoes)


async def test_the_shapes_of_the_other_contract(brain: Brain, ada: httpx.AsyncClient) -> None:
    new = await add(ada, "The relay sleeps at night.", source="openclaw:main", metadata=turn(1, id="x9"))
    brain.clock.advance(1)
    assert new | {"duplicate": False} == new
    assert new["createdAt"] == new["created_at"]
    assert new["updatedAt"] == new["updated_at"]
    await add(ada, "It wakes at six.", source="openclaw:main", metadata=turn(2))
    brain.clock.advance(1)
    await add(ada, "Unrelated.", source="other")
    await brain.settle()

    hits = (await ada.post("/v1/search", json={"query": "when does the relay sleep", "limit": 2})).json()
    assert hits[0]["id"] == new["id"]
    assert 0 < hits[0]["similarity"] <= 1
    assert hits[0]["score"] >= hits[1]["score"]
    assert (await ada.get(f"{THOUGHTS}/recent", params={"limit": 2})).json() == (await listed(ada))[:2]
    assert [each["source"] for each in await listed(ada)] == ["other", "openclaw:main", "openclaw:main"], "newest first"
    assert [each["id"] for each in await listed(ada, metadata_id="x9")] == [new["id"]]
    assert len(await listed(ada, source="openclaw:main")) == 2
    stats = (await ada.get("/v1/stats")).json()
    assert stats == {"total": 3, "embedded": 3, "by_source": {"openclaw:main": 2, "other": 1}}

    path = f"{THOUGHTS}/{new['id']}"
    changed = (await ada.patch(path, json={"content": "It never sleeps.", "metadata": {"k": 1}})).json()
    assert (changed["content"], changed["metadata"]) == ("It never sleeps.", {"k": 1})
    assert (await ada.get(path)).json()["content"] == "It never sleeps."
    assert (await ada.delete(path)).json() == {"id": new["id"], "deleted": True, "erased": False}
    assert (await ada.get(path)).status_code == 404
    ended = await ada.delete(THOUGHTS, params={"source": "other"})
    assert (ended.status_code, ended.json()["deleted"]) == (202, 1)
    assert refused(await ada.delete(THOUGHTS), 422)["message"].startswith("give at least one of source")


async def test_pages_go_on_where_the_header_says(brain: Brain, ada: httpx.AsyncClient) -> None:
    for number in range(5):
        brain.clock.advance(1)
        await add(ada, f"turn {number}", metadata=turn(number))
    pages, cursor = [], None
    while True:
        page = await ada.get(THOUGHTS, params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        pages.append([each["content"] for each in page.json()])
        if (cursor := page.headers.get("x-next-cursor")) is None:
            break
    assert pages == [["turn 4", "turn 3"], ["turn 2", "turn 1"], ["turn 0"]]


async def test_a_turn_is_stored_once_and_equal_turns_are_two(ada: httpx.AsyncClient) -> None:
    first = await add(ada, "ok", metadata=turn(1))
    assert await add(ada, "ok", metadata=turn(1)) == first | {"duplicate": True}
    assert (await add(ada, "ok then", metadata=turn(1)))["content"] == "ok", "it is that turn, whatever its text is now"
    assert (await add(ada, "ok", metadata=turn(2)))["id"] != first["id"]
    assert (await add(ada, "ok", metadata=turn(1, "s2")))["id"] != first["id"]
    without = [await add(ada, "ok") for _ in range(2)]
    assert without[0]["id"] != without[1]["id"], "thoughts without a turn may repeat"
    keyed = {"sessionId": "s1", "advancementKey": "a1"}
    several = [await add(ada, "ok", metadata={**keyed, "entry": entry}) for entry in (0, 1, 0)]
    assert several[0]["id"] == several[2]["id"] != several[1]["id"]

    await ada.patch(f"{THOUGHTS}/{first['id']}", json={"content": "changed"})
    assert (await add(ada, "ok", metadata=turn(1)))["content"] == "changed", "a changed turn is still that turn"


async def test_a_batch_is_stored_in_order_and_again_is_all_duplicates(ada: httpx.AsyncClient) -> None:
    thoughts = [{"content": f"turn {number}", "metadata": turn(number)} for number in range(4)]
    thoughts[2] = {"content": " "}
    for expected in ("created", "duplicate"):
        answer = (await ada.post(f"{THOUGHTS}:batch", json={"thoughts": thoughts})).json()
        assert [each["status"] for each in answer["results"]] == [expected, expected, "refused", expected]
        assert (answer["count"], answer["results"][2]["field"]) == (3, "content")
    assert [each["content"] for each in await listed(ada)] == ["turn 3", "turn 1", "turn 0"]


async def test_letter_by_letter(ada: httpx.AsyncClient) -> None:
    content = "\n\n  e\u0301 \r\n  \t x  \n\n"
    assert (await ada.get(f"{THOUGHTS}/{(await add(ada, content))['id']}")).json()["content"] == content
    assert (await add(ada, "a\x1b[31mb\x00"))["content"] == "a\\u001b[31mb\\u0000"


async def test_a_long_turn_is_whole(brain: Brain, ada: httpx.AsyncClient) -> None:
    content = LONG
    assert len(content) > 2 * limits.CONTENT_CHARS
    new = await add(ada, content, metadata=turn(1))
    assert (new["content"], new["part"], new["parts"]) == (content, 1, 3)
    assert await add(ada, content, metadata=turn(1)) == new | {"duplicate": True}
    parts = await listed(ada)
    assert "".join(each["content"] for each in sorted(parts, key=lambda each: each["part"])) == content
    for each in parts:
        assert (await ada.get(f"{THOUGHTS}/{each['id']}")).json()["content"] == content, "found by the id of any part"
    assert refused(await ada.patch(f"{THOUGHTS}/{new['id']}", json={"content": "x"}), 422)["field"] == "id"
    assert (await ada.delete(f"{THOUGHTS}/{parts[0]['id']}", params={"erase": True})).status_code == 200
    assert await listed(ada) == []
    too_long = await ada.post(THOUGHTS, json={"content": "x" * (limits.THOUGHT_CHARS + 1)})
    assert refused(too_long, 422)["field"] == "content"


@pytest.mark.parametrize(
    "content",
    [
        "x" * (limits.CONTENT_CHARS - 5) + "\n" * 10,
        "x" * limits.CONTENT_CHARS + " ",
        "first\n" + "\n" * 25_000 + "x" * 30_000 + " " * 24_999 + "last",
        "x" * 30_000 + " " * 46_000 + "x" * 24_001,
    ],
)
async def test_no_part_of_a_long_turn_is_blank(brain: Brain, ada: httpx.AsyncClient, content: str) -> None:
    new = await add(ada, content)
    assert (await ada.get(f"{THOUGHTS}/{new['id']}")).json()["content"] == content
    assert all(each["content"].strip() for each in await listed(ada))


async def test_a_long_turn_that_can_not_be_kept_in_parts_names_the_field(ada: httpx.AsyncClient) -> None:
    blank = {"content": "a" + " " * 2 * limits.CONTENT_CHARS + "b"}
    full = {"content": LONG, "metadata": {"k": "x" * (limits.METADATA_BYTES - 10)}}
    for bad, field in ((blank, "content"), (full, "metadata")):
        assert refused(await ada.post(THOUGHTS, json=bad), 422)["field"] == field
        batch = (await ada.post(f"{THOUGHTS}:batch", json={"thoughts": [bad, {"content": "fine"}]})).json()
        assert [each["status"] for each in batch["results"]] == ["refused", "created"]
        assert batch["results"][0]["field"] == field


async def test_a_turn_is_not_changed_into_one_that_no_export_can_restore(brain: Brain, ada: httpx.AsyncClient) -> None:
    path = f"{THOUGHTS}/{(await add(ada, 'short'))['id']}"
    longest = "x" * limits.CONTENT_CHARS
    assert (await ada.patch(path, json={"content": longest})).status_code == 200
    for content in (longest + "x", "x" * (limits.CONTENT_CHARS - 5) + "\x1b"):
        assert refused(await ada.patch(path, json={"content": content}), 422)["field"] == "content"
    assert (await ada.get(path)).json()["content"] == longest


async def test_a_long_turn_that_does_not_fit_leaves_no_part(brain: Brain) -> None:
    room = Workspace(id="w1", name="w1", created_at=brain.clock.now(), max_memories=2)
    await brain.store.workspaces.create_workspace(room)
    brain.clock.advance(3 * MICROSECONDS)
    async with http(brain.app(), await brain.key()) as client:
        refusal = refused(await client.post(THOUGHTS, json={"content": LONG}), 422)
        assert (refusal["error"], refusal["limit"], refusal["used"]) == ("quota_exceeded", 2, 0)
        batch = {"thoughts": [{"content": LONG}, {"content": "short"}]}
        results = (await client.post(f"{THOUGHTS}:batch", json=batch)).json()["results"]
        assert [each["status"] for each in results] == ["refused", "created"]
        assert [each["content"] for each in await listed(client)] == ["short"]


async def test_a_turn_sent_again_with_a_longer_or_shorter_text_is_what_was_stored(ada: httpx.AsyncClient) -> None:
    for number, (first, second) in enumerate([("short", LONG), (LONG, LONG * 2), (LONG, "short"), (LONG, LONG[:-9])]):
        new = await add(ada, first, metadata=turn(1, f"s{number}"))
        stored = await listed(ada)
        again = await add(ada, second, metadata=turn(1, f"s{number}"))
        assert again == new | {"duplicate": True}
        assert again["content"] == first
        assert await listed(ada) == stored, "no part of the other text"


@pytest.mark.parametrize("erase", [False, True])
async def test_a_deletion_that_failed_on_the_way_is_finished_by_the_next(brain: Brain, *, erase: bool) -> None:
    class Failing(SqlMemoryWrites):
        tries = 0

        async def forget(self, *args: Any) -> Memory:
            self.fail_once()
            return await super().forget(*args)

        async def erase(self, *args: Any) -> Erasure:
            self.fail_once()
            return await super().erase(*args)

        def fail_once(self) -> None:
            self.tries += 1
            if self.tries == 2:
                raise TryLater("the database is down")

    store = with_parts(brain.store, writes=Failing(brain.store._database, brain.clock))
    async with http(brain.app(store=store), await brain.key()) as client:
        path = f"{THOUGHTS}/{(await add(client, LONG))['id']}"
        assert (await client.delete(path, params={"erase": erase})).status_code == 503
        assert (await client.delete(path, params={"erase": erase})).status_code == 200
        assert await listed(client) == []


@pytest.mark.parametrize("content", ["short", LONG])
async def test_a_deleted_thought_can_still_be_erased_and_again(
    content: str, brain: Brain, ada: httpx.AsyncClient
) -> None:
    path = f"{THOUGHTS}/{(await add(ada, content, source='chat'))['id']}"
    parts = [row["id"] for row in (await ada.get("/v1/brain/list", params={"source": "chat"})).json()["memories"]]
    await ada.delete(path)
    erased = [await ada.delete(path, params={"erase": 1}) for _ in range(2)]
    async with http(brain.app(), await brain.key(agent="bo")) as bo:
        refused(await bo.delete(path, params={"erase": 1}), 404)

    assert [answer.json().get("erased") for answer in erased] == [True, True]
    assert {row.content for row in (await brain.store.memories.rows(parts)).values()} == {""}
    refused(await ada.delete(path), 404)


@pytest.mark.parametrize("part", ["one", None, [1], {"k": 1}, 1.5, True, -1])
async def test_metadata_named_like_a_part_is_not_taken_for_one(ada: httpx.AsyncClient, part: object) -> None:
    new = await add(ada, "mine", metadata={"part": part, "parts": 2, "partOf": "x"})
    path = f"{THOUGHTS}/{new['id']}"
    assert (await ada.get(path)).json()["content"] == "mine"
    assert (await ada.patch(path, json={"content": "changed"})).json()["metadata"] == new["metadata"]
    assert (await ada.delete(path)).status_code == 200


async def test_secrets_are_masked_and_no_turn_is_refused(brain: Brain) -> None:
    app = brain.app(content_policy=DetectingPolicy(SecretDetector(), refuse_secrets=True))
    async with http(app, await brain.key()) as client:
        new = await add(client, f"use {KEY} and  go on ", metadata=turn(1, note=KEY))
        assert new["content"] == "use [redacted: openbrain-key] and  go on "
        assert new["metadata"]["note"] == "[redacted: openbrain-key]"
        changed = await client.patch(f"{THOUGHTS}/{new['id']}", json={"content": f"not {KEY}"})
        assert changed.json()["content"] == "not [redacted: openbrain-key]"


async def test_a_secret_across_two_parts_is_masked_too(brain: Brain) -> None:
    lines = [hashlib.sha512(bytes([number])).hexdigest()[:64] for number in range(25)]
    private = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----", ""])
    before, after = "some words of a log line\n" * 1960, "more words\n" * 2000
    assert len(before) < limits.CONTENT_CHARS < len(before + private)
    async with http(brain.app(content_policy=DetectingPolicy(SecretDetector())), await brain.key()) as client:
        new = await add(client, before + private + after, metadata=turn(1))
        grown = await add(client, ("password = 'hunter2xyzQ9'\n" * 1923)[: limits.CONTENT_CHARS], metadata=turn(2))
        parts = await listed(client)

    assert new["content"].startswith(before + "[redacted: ")
    assert new["content"].endswith(after)
    assert not any(line in part["content"] for line in lines for part in parts)
    assert grown["content"].count("[redacted: assigned-password]'\n") == 1923
    assert max(len(part["content"]) for part in parts) <= limits.CONTENT_CHARS


async def test_thoughts_are_their_agents_alone(brain: Brain, ada: httpx.AsyncClient) -> None:
    mine = await add(ada, "The vault code is on the fridge.", metadata=turn(1))
    brain.clock.advance(1)
    of_session = await add(ada, "For this session.", memory_scope="session", metadata=turn(2))
    await brain.settle()
    assert [each["id"] for each in await listed(ada)] == [mine["id"]], "a session's thoughts are listed within it"
    both = await listed(ada, **{"metadata.sessionId": "s1"})
    assert [each["id"] for each in both] == [of_session["id"], mine["id"]]
    assert both == await listed(ada, **{"metadata[sessionId]": "s1"})
    for workspace, agent in (("w1", "bob"), ("w2", "ada")):
        async with http(brain.app(), await brain.key(workspace, agent)) as other:
            assert await listed(other, **{"metadata.sessionId": "s1"}) == []
            assert (await other.post("/v1/search", json={"query": "vault code", "session_id": "s1"})).json() == []
            assert (await other.get("/v1/stats")).json() == {"total": 0, "embedded": 0, "by_source": {}}
            for known in (mine["id"], unknown_id()):
                for method, body in (("GET", None), ("PATCH", {"content": "x"}), ("DELETE", None)):
                    answer = await other.request(method, f"{THOUGHTS}/{known}", json=body)
                    assert (answer.status_code, answer.json()["message"]) == (404, "no thought with this id")
            ended = await other.delete(THOUGHTS, params={"metadata.sessionId": "s1"})
            assert ended.json() == {"deleted": 0, "operation_id": None}
            taken = await add(other, "mine", metadata=turn(1))
            assert taken["duplicate"] is False, "another agent's turn is not one of its own"
    async with http(brain.app(), await brain.key(agent="")) as nobody:
        assert refused(await nobody.post(THOUGHTS, json={"content": "x"}), 422)["field"] == "agent_id"


async def test_metadata_narrows_every_way_of_reading(brain: Brain, ada: httpx.AsyncClient) -> None:
    values: list[Any] = ["7", 7, True, 7.0, ["7"], {"k": "7"}, None, "x" * 300]
    ids = await remembered(ada, *(f"note {number} of the relay" for number in range(len(values))))
    for memory_id, value in zip(ids, values, strict=True):
        await ada.patch(f"/v1/brain/memories/{memory_id}", json={"metadata": {"k": value, "all": "yes"}})
    await brain.settle()

    async def everywhere(metadata: dict[str, Any]) -> set[str]:
        query = {f"metadata.{name}": str(value).lower() for name, value in metadata.items()}
        body = {"query": "note of the relay", "top_k": 20, "precision": "recall", "metadata": metadata}
        recalled = (await ada.post("/v1/brain/recall", json=body)).json()["memories"]
        nested = {**body, "metadata": None, "filter": {"metadata": metadata}}
        found = [
            {each["id"] for each in rows}
            for rows in (
                recalled,
                (await ada.post("/v1/brain/recall", json=nested)).json()["memories"],
                (await ada.get("/v1/brain/list", params=query)).json()["memories"],
                (await ada.get("/v1/brain/search", params={"q": "relay", **query})).json()["hits"],
            )
        ]
        ended = (await ada.post("/v1/brain/forget", json={"metadata": metadata})).json()
        exported = (await ada.get("/v1/brain/export", params=query)).text
        assert all(each == found[0] for each in found), metadata
        assert ended["count"] == len(found[0]) == exported.count('"kind":"memory"'), metadata
        return found[0]

    assert await everywhere({"all": "yes"}) == {*ids}
    assert await everywhere({"k": "7"}) == {*ids[:2]} == await everywhere({"k": 7, "all": "yes"})
    assert await everywhere({"k": True}) == {ids[2]}
    for nobody in ({"k": "7.0"}, {"k": "null"}, {"k.k": "7"}, {"all": "no"}):
        assert await everywhere(nobody) == set()
    for bad in ({}, {"a b": "x"}, {"k": 1.5}, {"k": "x" * 257}, {str(number): "" for number in range(11)}):
        answer = refused(await ada.post("/v1/brain/recall", json={"query": "x", "metadata": bad}), 422)
        assert answer["field"].startswith("metadata"), bad
