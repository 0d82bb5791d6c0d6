"""Nobody sees or changes what is not theirs: every route of the table, by everyone who must not."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from openbrain.domain.memory import Memory
from openbrain_api.handlers import ROUTES
from tests.support.api.brain import Brain, http, unknown_id
from tests.support.api.routes.routes_without_memories import NO_MEMORIES
from tests.support.api.routes.visibility_probes import PROBES, Ask

MEMORIES: dict[str, dict[str, Any]] = {
    "of an org": {"content": "zebra stripes in alpha", "org": "alpha"},
    "of no org": {"content": "quagga ran in the plain"},
    "of an agent": {"content": "okapi hides alone", "memory_scope": "agent"},
    "of a session": {"content": "tapir spoke tonight", "memory_scope": "session", "session_id": "s1"},
}
COMMON = {"type": "decision", "project": "zoo", "tags": ["striped"], "source": "probe"}


@dataclass(frozen=True)
class Watcher:
    """A caller who must not see `hidden`."""

    name: str
    hidden: tuple[str, ...]
    workspace: str = "w1"
    agent: str = "ada"
    session: str = "s1"
    limits: dict[str, Any] = field(default_factory=dict)


PERSONAL = ("of an agent", "of a session")
WATCHERS = (
    Watcher("another tenant", tuple(MEMORIES), workspace="w2", agent="bob"),
    Watcher("another tenant's agent of the same name", tuple(MEMORIES), workspace="w2"),
    Watcher("another tenant that may act as anyone", tuple(MEMORIES), workspace="w2", limits={"act_as": ("*",)}),
    Watcher("another org", tuple(MEMORIES), limits={"orgs": ("beta",), "without_org": False}),
    Watcher("another org that has what is of none", ("of an org", *PERSONAL), agent="bob", limits={"orgs": ("beta",)}),
    Watcher("another agent", PERSONAL, agent="bob"),
    Watcher("another agent that may act as a third", PERSONAL, agent="bob", limits={"act_as": ("eve",)}),
    Watcher("no agent", PERSONAL, agent=""),
    Watcher("the agent in no session", ("of a session",), session=""),
    Watcher("the agent in another session", ("of a session",), session="s2"),
)


@dataclass(frozen=True)
class World:
    """A brain with the four memories, all ada's."""

    brain: Brain
    ids: dict[str, str]

    async def rows(self) -> dict[str, Memory]:
        rows = await self.brain.store.memories.rows(list(self.ids.values()))
        return {name: rows[memory_id] for name, memory_id in self.ids.items()}


@pytest.fixture
async def world(brain: Brain) -> World:
    ids = {}
    async with http(brain.app(), await brain.key()) as ada:
        for name, own in MEMORIES.items():
            response = await ada.post("/v1/brain/remember", json={**COMMON, **own})
            assert response.status_code == 201, response.text
            ids[name] = response.json()["id"]
    await brain.settle()
    return World(brain, ids)


async def send(client: httpx.AsyncClient, ask: Ask) -> httpx.Response:
    if ask.lines:
        content = b"".join(json.dumps(line).encode() + b"\n" for line in ask.lines)
        headers = {"content-type": "application/x-ndjson"}
        return await client.request(ask.method, ask.path, params=ask.params, content=content, headers=headers)
    return await client.request(ask.method, ask.path, params=ask.params, json=ask.json)


def asks(memory: Memory, session: str) -> list[Ask]:
    return [ask for probe in PROBES.values() for ask in probe(memory, session)]


def test_every_route_has_a_probe_or_a_reason() -> None:
    table = {(route.method, route.path) for route in ROUTES}

    assert table == PROBES.keys() | NO_MEMORIES.keys()
    assert not PROBES.keys() & NO_MEMORIES.keys()
    assert {(route.method, route.path) for route in ROUTES if route.path.startswith("/v1/brain/")} <= PROBES.keys()


@pytest.mark.parametrize("watcher", WATCHERS, ids=lambda watcher: watcher.name)
async def test_what_is_not_visible_stays_so_on_every_route(world: World, watcher: Watcher) -> None:
    before = await world.rows()
    key = await world.brain.key(watcher.workspace, watcher.agent, **watcher.limits)
    unknown = unknown_id()
    async with http(world.brain.app(), key, **{"x-openbrain-agent": "ada"}) as client:
        for name in watcher.hidden:
            memory = before[name]
            for ask in asks(memory, watcher.session):
                response = await send(client, ask)
                seen = f"{ask.method} {ask.path} {ask.params} {ask.json}: {response.text}"

                assert response.status_code < 500, seen
                assert memory.id not in response.text, seen
                if "remember" not in ask.path:
                    assert memory.content not in response.text, seen
                if ask.like_unknown:
                    other = await send(client, _with_id(ask, memory.id, unknown))
                    assert (other.status_code, other.json()) == (response.status_code, response.json()), seen
    assert await world.rows() == before


def _with_id(ask: Ask, memory_id: str, other: str) -> Ask:
    body = ask.json
    if isinstance(body, dict) and "supersedes" in body:
        body = {**body, "supersedes": other}
    if isinstance(body, dict) and "memories" in body:
        body = {"memories": [{**body["memories"][0], "supersedes": other}]}
    lines = [
        dict(zip(line, (other if each == memory_id else each for each in line.values()), strict=True))
        for line in ask.lines
    ]
    return Ask(method=ask.method, path=ask.path.replace(memory_id, other), params=ask.params, json=body, lines=lines)


async def test_who_may_see_it_is_shown_it_by_the_same_requests(world: World) -> None:
    """Without this the test above would prove nothing."""
    async with http(world.brain.app(), await world.brain.key(agent="", act_as=("ada",))) as client:
        client.headers["x-openbrain-agent"] = "ada"
        for name, memory in (await world.rows()).items():
            for ask in asks(memory, "s1"):
                if not ask.hit:
                    continue
                body = ask.json
                if ask.path.endswith("remember"):
                    body = {**ask.json, "project": memory.project}
                elif ask.path.endswith("remember:batch"):
                    body = {"memories": [{**ask.json["memories"][0], "project": memory.project}]}
                response = await client.request(ask.method, ask.path, params=ask.params, json=body)

                assert memory.id in response.text, f"{name}: {ask} {response.text}"


async def test_browsing_a_project_is_narrower_than_recalling_in_it(brain: Brain) -> None:
    """A list is limited to exactly that project; a recall also finds what is shared across projects."""
    async with http(brain.app(), await brain.key()) as ada:
        for project, scope in (("zoo", "project"), ("farm", "project"), ("farm", "shared")):
            body = {"content": f"animals of the {project} {scope}", "type": "fact", "project": project}
            await ada.post("/v1/brain/remember", json={**body, "memory_scope": scope})
        await brain.settle()
        listed = (await ada.get("/v1/brain/list", params={"project": "zoo"})).json()
        recalled = (await ada.post("/v1/brain/recall", json={"query": "animals", "project": "zoo"})).json()

    assert [each["content"] for each in listed["memories"]] == ["animals of the zoo project"]
    assert {each["content"] for each in recalled["memories"]} == {
        "animals of the zoo project",
        "animals of the farm shared",
    }


async def test_a_chain_shows_only_its_visible_part(brain: Brain) -> None:
    """ada keeps the old one to herself; bob sees the new one and its history, and nothing of its origin."""
    async with http(brain.app(), await brain.key()) as ada, http(brain.app(), await brain.key(agent="bob")) as bob:
        first = {"content": "mine alone", "type": "fact", "memory_scope": "agent"}
        old = (await ada.post("/v1/brain/remember", json=first)).json()["id"]
        body = {"content": "for all of us", "type": "fact", "supersedes": old}
        new = (await ada.post("/v1/brain/remember", json=body)).json()["id"]
        mine = (await ada.get(f"/v1/brain/memories/{new}", params={"history": 1})).json()
        theirs = (await bob.get(f"/v1/brain/memories/{new}", params={"history": 1})).json()

    assert mine["lineage"] == {"parents": [old], "children": []}
    assert theirs["lineage"] == {"parents": [], "children": []}
    assert "mine alone" not in str(theirs)


async def test_a_key_limited_to_orgs_is_told_that_it_asks_for_another(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(orgs=("beta",), without_org=False)) as client:
        answers = [
            await client.post("/v1/brain/recall", json={"query": "x", "org": "alpha"}),
            await client.post("/v1/brain/recall", json={"query": "x", "filter": {"org": "alpha"}}),
            await client.get("/v1/brain/list", params={"org": "alpha"}),
            await client.post("/v1/brain/remember", json={"content": "x", "type": "fact", "org": "alpha"}),
            await client.post("/v1/brain/remember", json={"content": "x", "type": "fact"}),
        ]

    assert {response.status_code for response in answers} == {403}
    assert {response.json()["error"] for response in answers} == {"forbidden"}
