"""Requests as the original's clients send them, against a running server, field by field.

There are two generations of clients: one reads the fields in `data`, the other those next to it.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.api.brain import Brain
from tests.support.api.old_clients import FULL, ISO, MEMORY, TYPES, Old, is_memory, old_client

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_remember_with_every_member(old: Old) -> None:
    status, answer = await old("POST", "/v1/brain/remember", FULL)
    memory = answer["data"]

    assert status == 201
    is_memory(memory)
    for name in MEMORY:
        assert answer[name] == memory[name]
    assert memory["agent_id"] == "cladius", "the key says who the agent is"
    assert (memory["org"], memory["project"], memory["source"]) == ("acme", "web", "hermes")
    assert (memory["confidence"], memory["tags"], memory["supersedes_count"]) == (0.8, ["deploy", "ops"], 0)
    assert memory["expires_at"].startswith("2027-01-17T08:00:00"), "expires_in is in hours"


async def test_remember_with_nothing_but_what_must_be(old: Old) -> None:
    body = {"content": "x", "type": "fact", "tags": None, "org": None, "project": None, "expires_in": None}
    status, answer = await old("POST", "/v1/brain/remember", body)

    assert status == 201
    assert [answer["data"][name] for name in ("org", "project", "tags", "source", "confidence", "expires_at")] == [
        *(None, None, [], "manual", 1.0, None)
    ]


async def test_every_type(old: Old) -> None:
    for kind in TYPES:
        assert (await old("POST", "/v1/brain/remember", {"content": f"a {kind}", "type": kind}))[0] == 201


async def test_a_chain(old: Old) -> None:
    _, first = await old("POST", "/v1/brain/remember", {"content": "one", "type": "fact"})
    _, second = await old("POST", "/v1/brain/remember", {"content": "two", "type": "fact", "supersedes": first["id"]})
    status, third = await old(
        "POST", "/v1/brain/remember", {"content": "three", "type": "fact", "supersedes": second["data"]["id"]}
    )
    _, listed = await old("GET", "/v1/brain/list")

    assert (status, third["data"]["supersedes_id"], third["data"]["supersedes_count"]) == (201, second["id"], 2)
    assert [each["content"] for each in listed["data"]["memories"]] == ["three"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(module_brain: Brain, module_url: str) -> AsyncIterator[Old]:
    """Shared by all tests that only read."""
    async with old_client(module_brain, module_url, await module_brain.new_workspace()) as old:
        await _fill(module_brain, old)
        yield old


async def _fill(brain: Brain, old: Old) -> None:
    for content, kind, org, project, confidence in (
        ("We deploy with podman on Fridays.", "decision", "acme", "web", 0.9),
        ("The cache key holds the tenant.", "bug", "acme", "shop", 0.4),
        ("Deploy steps: build, push, roll.", "procedure", "other", "web", 1.0),
    ):
        body = {"content": content, "type": kind, "org": org, "project": project, "confidence": confidence}
        assert (await old("POST", "/v1/brain/remember", {**body, "tags": [project, "t"]}))[0] == 201
        brain.clock.advance(1000)
    await brain.settle()


RECALLS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"decision", "bug", "procedure"}),
    ({"top_k": 20}, {"decision", "bug", "procedure"}),
    ({"top_k": 5, "limit": 1}, {"decision"}),
    ({"limit": 1}, {"decision"}),
    ({"org": "acme"}, {"decision", "bug"}),
    ({"project": "web"}, {"decision", "procedure"}),
    ({"type": "bug"}, {"bug"}),
    ({"type": ["bug", "procedure"]}, {"bug", "procedure"}),
    ({"filter": {"org": "acme", "type": ["bug", "decision"]}}, {"decision", "bug"}),
    ({"filter": {"type": "bug", "min_confidence": 0.5}}, set()),
    ({"filter": {"org": "acme"}, "org": "other"}, {"procedure"}),
    ({"filter": {"project": "shop", "agent_id": "cladius"}}, {"bug"}),
    ({"filter": {"agent_id": "somebody"}}, set()),
    ({"filter": None, "org": None, "project": "", "type": []}, {"decision", "bug", "procedure"}),
    ({"keywords": ["podman"], "boost_keywords": 0.3}, {"decision", "bug", "procedure"}),
    ({"boost_keywords": ["podman"]}, {"decision", "bug", "procedure"}),
    ({"workspace_id": 7}, {"decision", "bug", "procedure"}),
    ({"top_k": 10, "agent_id": "cladius", "min_confidence": 0.5}, {"decision", "procedure"}),
]
"""The last, in the form the Go client uses."""


@pytest.mark.parametrize(("asked", "kinds"), RECALLS, ids=[json.dumps(asked)[:50] for asked, _ in RECALLS])
async def test_recall_in_every_form(filled: Old, asked: dict[str, Any], kinds: set[str]) -> None:
    status, answer = await filled("POST", "/v1/brain/recall", {"query": "how do we deploy with podman", **asked})

    assert status == 200
    data = answer["data"]
    assert {each["type"] for each in data["memories"]} == kinds
    assert data["count"] == answer["count"] == len(kinds)
    assert data["scores"] == answer["scores"] == {each["id"]: each["score"] for each in data["memories"]}
    assert answer["memories"] == data["memories"]
    for memory in data["memories"]:
        is_memory(memory)
        assert memory["score"] == round(memory["score"], 4)


async def test_recall_says_what_is_wrong(filled: Old) -> None:
    for wrong in (
        {},
        {"query": ""},
        {"query": "x" * 2001},
        {"query": "x", "top_k": 0},
        {"query": "x", "type": "rumour"},
    ):
        status, answer = await filled("POST", "/v1/brain/recall", wrong)
        assert (status, answer["error"]) == (422, "validation_error")


async def test_list(filled: Old) -> None:
    _, all_of_it = await filled("GET", "/v1/brain/list", limit=50, org="", project="", type="", agent_id="")
    _, narrowed = await filled("GET", "/v1/brain/list", org="acme", type="bug", agent_id="cladius", project="shop")
    status, many = await filled("GET", "/v1/brain/list", limit=101)

    data = all_of_it["data"]
    assert [each["type"] for each in data["memories"]] == ["procedure", "bug", "decision"], "newest first"
    assert data["count"] == 3
    for memory in data["memories"]:
        is_memory(memory)
    assert [each["type"] for each in narrowed["data"]["memories"]] == ["bug"]
    assert (status, many["error"]) == (422, "validation_error")


async def test_search(filled: Old) -> None:
    status, answer = await filled("GET", "/v1/brain/search", q="podman", org="acme", limit=10)
    _, nothing = await filled("GET", "/v1/brain/search", q="podman", project="shop")

    assert status == 200
    assert [each["type"] for each in answer["data"]["memories"]] == ["decision"]
    assert answer["data"]["memories"][0]["score"] > 0
    assert answer["data"]["count"] == answer["total"] == 1
    assert answer["hits"][0]["id"] == answer["data"]["memories"][0]["id"]
    assert answer["took_ms"] >= 0
    assert nothing["data"] == {"memories": [], "count": 0}


async def test_tags_and_scopes(filled: Old) -> None:
    _, tags = await filled("GET", "/v1/brain/tags")
    _, scopes = await filled("GET", "/v1/brain/scopes")

    assert tags["data"] == {"t": 3, "web": 2, "shop": 1}
    assert {each["name"]: each["count"] for each in tags["tags"]} == tags["data"]
    assert scopes["data"] == {"acme": {"web": 1, "shop": 1}, "other": {"web": 1}}
    nested = {each["org"]: {one["name"]: one["count"] for one in each["projects"]} for each in scopes["scopes"]}
    assert nested == scopes["data"]
    assert {each["org"]: each["count"] for each in scopes["scopes"]} == {"acme": 2, "other": 1}


@pytest.mark.parametrize("body", [None, {}, {"reason": "no longer true"}, {"reason": None}])
async def test_forget(old: Old, body: Any) -> None:
    _, memory = await old("POST", "/v1/brain/remember", {"content": "to be forgotten", "type": "fact"})
    status, answer = await old("DELETE", f"/v1/brain/forget/{memory['id']}", body)
    _, listed = await old("GET", "/v1/brain/list")

    assert status == 200
    is_memory({**answer["data"], "org": "", "project": ""})
    assert ISO.fullmatch(answer["data"]["deleted_at"])
    assert listed["data"] == {"memories": [], "count": 0}
