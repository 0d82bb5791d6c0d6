"""Requests as the clients of the original send them, against a running server, member by member.

Two generations read our answers: one the members of `data`, the other the members beside it.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from openbrain import limits
from openbrain.errors import TryLater
from tests.api_support import Brain, brain, brain_database_url, unknown_id
from tests.served import served

__all__ = ["brain", "brain_database_url"]

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
TYPES = "fact decision observation convention research plan bug architecture documentation service".split()
TYPES += ["pattern", "context", "procedure"]
MEMORY = {
    "id": str,
    "agent_id": str,
    "type": str,
    "content": str,
    "tags": list,
    "org": str,
    "project": str,
    "confidence": float,
    "score": float | None,
    "source": str,
    "supersedes_id": str | None,
    "supersedes_count": int,
    "expires_at": str | None,
    "deleted_at": str | None,
    "created_at": str,
    "updated_at": str,
}
"""What they read of a memory."""

FULL = {
    "content": "Deploys go through the blue cluster first.",
    "type": "convention",
    "tags": ["deploy", "ops"],
    "org": "  acme ",
    "project": "web",
    "confidence": 0.8,
    "supersedes": None,
    "expires_in": 48,
    "agent_id": "virgil",
    "workspace_id": 7,
    "source": "hermes",
}


class Old:
    """An old client: one base URL, one bearer key, JSON both ways."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def __call__(self, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body)
        headers = {"content-type": "application/json; charset=utf-8", "accept": "application/json"}
        response = await self.http.request(method, path, content=content, headers=headers, params=query or None)
        return response.status_code, response.json()


@pytest.fixture
async def url(brain: Brain) -> AsyncIterator[str]:
    async with served(brain.app()) as address:
        yield address


@pytest.fixture
async def old(brain: Brain, url: str) -> AsyncIterator[Old]:
    headers = {"authorization": f"Bearer {await brain.key(agent='cladius')}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as http:
        yield Old(http)


def is_memory(found: dict[str, Any]) -> None:
    for name, kind in MEMORY.items():
        assert isinstance(found[name], kind), (name, found[name])
    for name in ("created_at", "updated_at", "expires_at", "deleted_at"):
        assert found[name] is None or ISO.fullmatch(found[name])


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


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"content": "x" * (limits.CONTENT_CHARS + 1)},
        {"type": "rumour"},
        {"type": None},
        {"org": " "},
        {"org": "x" * 129},
        {"project": "x" * 256},
        {"confidence": 1.1},
        {"expires_in": 0},
        {"supersedes": "7"},
        {"supersedes": unknown_id()},
        {"tags": "deploy"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
async def test_what_was_wrong_is_still_wrong_and_said_alike(old: Old, wrong: dict[str, Any]) -> None:
    status, answer = await old("POST", "/v1/brain/remember", {**FULL, **wrong})

    assert status == 422
    assert answer["error"] == "validation_error"
    assert next(iter(wrong)) in answer["message"]


@pytest.fixture
async def filled(brain: Brain, old: Old) -> Old:
    for content, kind, org, project, confidence in (
        ("We deploy with podman on Fridays.", "decision", "acme", "web", 0.9),
        ("The cache key holds the tenant.", "bug", "acme", "shop", 0.4),
        ("Deploy steps: build, push, roll.", "procedure", "other", "web", 1.0),
    ):
        body = {"content": content, "type": kind, "org": org, "project": project, "confidence": confidence}
        assert (await old("POST", "/v1/brain/remember", {**body, "tags": [project, "t"]}))[0] == 201
        brain.clock.advance(1000)
    await brain.settle()
    return old


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
"""The last: as the Go client puts it."""


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


async def test_forgetting_what_is_not_there(old: Old) -> None:
    for memory_id in (unknown_id(), "12"):
        status, answer = await old("DELETE", f"/v1/brain/forget/{memory_id}")
        assert (status, answer["error"]) == (404, "not_found")
    _, memory = await old("POST", "/v1/brain/remember", {"content": "x", "type": "fact"})
    status, answer = await old("DELETE", f"/v1/brain/forget/{memory['id']}", {"reason": "x" * 501})
    assert (status, answer["error"]) == (422, "validation_error")


async def test_who_may_not(brain: Brain, url: str) -> None:
    reader = await brain.key(permissions=frozenset({"brain.read"}))
    of_org = await brain.key(orgs=("acme",), without_org=False)
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        nobody = Old(http)
        answers = [await nobody("GET", "/v1/brain/list"), await nobody("POST", "/v1/brain/recall", {})]
        http.headers["authorization"] = f"Bearer {reader}"
        write = await nobody("POST", "/v1/brain/remember", FULL)
        http.headers["authorization"] = f"Bearer {of_org}"
        other_org = await nobody("POST", "/v1/brain/remember", {**FULL, "org": "other"})
        open_to_all = await nobody("GET", "/v1/health")

    assert {(status, answer["error"]) for status, answer in answers} == {(401, "unauthorised")}
    assert all(answer["message"] for _, answer in answers)
    assert [(status, answer["error"]) for status, answer in (write, other_org)] == [(403, "forbidden")] * 2
    assert open_to_all[0] == 200


async def test_the_stored_org_counts_for_what_is_forgotten(brain: Brain, old: Old, url: str) -> None:
    """A key of other orgs gets the answer for an id that never was."""
    _, memory = await old("POST", "/v1/brain/remember", FULL)
    key = await brain.key(orgs=("other",), without_org=False)
    async with httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {key}"}, trust_env=False) as http:
        foreign = await Old(http)("DELETE", f"/v1/brain/forget/{memory['id']}")
        unknown = await Old(http)("DELETE", f"/v1/brain/forget/{unknown_id()}")

    assert foreign == unknown
    assert foreign[0] == 404


async def test_too_many_requests(brain: Brain, url: str) -> None:
    headers = {"authorization": f"Bearer {await brain.key(rate_limit=2)}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as http:
        well = await http.get("/v1/brain/list")
        await http.get("/v1/brain/list")
        late = await http.get("/v1/brain/list")

    assert [well.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining")] == ["2", "1"]
    assert int(well.headers["X-RateLimit-Reset"]) > 1_600_000_000
    assert (late.status_code, late.json()["error"]) == (429, "rate_limited")
    assert late.json()["message"]
    assert late.json()["rate_limit"]["limit"] == 2
    assert int(late.headers["Retry-After"]) >= 1
    assert late.headers["X-RateLimit-Remaining"] == "0"


async def test_what_is_down(brain: Brain, old: Old, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(*_: Any, **__: Any) -> None:
        raise TryLater("the database can't be reached: try again")

    monkeypatch.setattr(brain.truth, "listing", down)
    status, answer = await old("GET", "/v1/brain/list")

    assert (status, answer["error"]) == (503, "service_error")
    assert answer["message"]
