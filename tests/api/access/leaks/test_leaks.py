"""Hidden things change no answer: everything readable is read before and after others leave things that the reader
may not see, and stays the same byte by byte; and a hidden id is answered like one that never existed."""

import dataclasses
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from mcp import Client

from openbrain.domain.memory import DAY
from openbrain_api.handlers import ROUTES
from openbrain_api.http.pages import PAGES
from openbrain_matcher.jobs.backlog import match_queued
from openbrain_matcher.matching.books import Books
from openbrain_mcp.app import PATH, with_mcp
from tests.api.access.leaks.hidden import WORD, Left, Names, Watcher, everything, leave
from tests.api.access.leaks.readings import NAMING_TOOLS, NOT_READ, readings
from tests.api.access.leaks.readings import tools as tool_readings
from tests.api.access.leaks.telling import differing, told
from tests.api.access.test_foreign_ids import BODIES
from tests.mcp.support import text, tools
from tests.mcp.test_every_tool import UNKNOWN, calls
from tests.support.api.brain import Brain, http
from tests.support.processes.settings import changed

WATCHERS = (
    Watcher("an agent"),
    Watcher("an agent in a session", session="s1"),
    Watcher("another agent", agent="eve", session="s9"),
    Watcher("no agent", agent=""),
    Watcher("of one org", orgs=("alpha",), session="s1"),
    Watcher("of one org alone", orgs=("alpha",), without_org=False),
    Watcher("another agent of one org alone", agent="eve", orgs=("alpha",), without_org=False),
)
SEES_ALL = Watcher("who may see it", session="s1")
_GUESSES = pytest.mark.long("what is hidden from this watcher is guessed by it, and a watcher like it reads everything")
SAME = {"brain_status": "parts of the process and ticks"}
"""Answers that may stay the same even for a watcher who may see everything that was left, and why."""
AGE = 3 * DAY
"""The age of memories that nobody recalled: they are listed for review."""


@pytest.fixture
def world(brain: Brain, tmp_path: Path) -> Brain:
    """Two workspaces, each with a vault."""
    folders = {name: tmp_path / f"vault-{name}" for name in ("w", "o")}
    for folder in folders.values():
        (folder / "brain-feed").mkdir(parents=True)
    vaults = changed(brain.settings.vaults, folders=folders, wait_s=0.2)
    return dataclasses.replace(brain, settings=brain.settings.model_copy(update={"vaults": vaults}))


async def left_by_others(brain: Brain, things: Iterable[Left], age: int = AGE) -> Names:
    """Leave these things, indexed and matched; return their ids. Memories get the age `age`."""
    ids: Names = defaultdict(list)
    keys: dict[tuple[str, str], httpx.AsyncClient] = {}
    for number, thing in enumerate(things):
        author = thing.workspace, thing.author
        if author not in keys:
            keys[author] = http(brain.app(), await brain.key(*author, rate_limit=10**6))
        vault, earlier = brain.settings.vaults.folders.get(thing.workspace), age * ("memory" in thing.kind)
        brain.clock.advance(-earlier)
        for kind, some in (await leave(thing, number, keys[author], vault)).items():
            ids[kind] += some
        brain.clock.advance(earlier)
    for client in keys.values():
        await client.aclose()
    await settled(brain)
    return ids


async def settled(brain: Brain) -> None:
    await brain.settle()
    books = Books(brain.store.standing_queries, brain.clock)
    while await match_queued(brain.store, books, brain.clock):
        pass


@asynccontextmanager
async def watching(brain: Brain, watcher: Watcher) -> AsyncIterator[tuple[httpx.AsyncClient, Client]]:
    """The watcher's HTTP client and tools. The watcher has standing queries that match everything."""
    key = await brain.key("w", watcher.agent, rate_limit=10**6, **watcher.limits)
    async with http(brain.app(), key) as client, tools(brain, key) as called:
        if watcher.agent:
            for body in ({"query": WORD}, {"filter": {"agent_id": "bob"}}, {"filter": {}, "include_own": True}):
                made = await client.post("/v1/brain/subscriptions", json=body)
                assert made.status_code == 201, made.text
        yield client, called


async def test_all_that_the_running_app_serves_is_read_or_has_its_reason(world: Brain) -> None:
    app = with_mcp(world.app())
    async with http(app, await world.key("w")) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods if method != "parameters"}
    read = readings(SEES_ALL).keys()
    left_out = [
        (method, path)
        for method, path in served - read
        if "{id}" not in path and not any(_excused(method, path, named) for named in NOT_READ)
    ]
    async with tools(world, await world.key("w")) as called:
        listed = (await called.list_tools()).tools
        templates = (await called.list_resource_templates()).resource_templates
        resources = (await called.list_resources()).resources

    reached = {getattr(route, "path", "").replace(":path}", "}") for route in app.routes}
    assert reached - paths.keys() == {PATH, *(page.path for page in PAGES)}
    assert read <= served
    assert left_out == []
    assert {tool.name for tool in listed if tool.annotations and tool.annotations.read_only_hint} == (
        tool_readings(SEES_ALL).keys() | NAMING_TOOLS
    )
    assert ([each.uri_template for each in templates], resources) == (["memory://{id}"], [])


def _excused(method: str, path: str, named: str) -> bool:
    if named.endswith("/"):
        return path.startswith(named)
    return path == named or (method != "GET" and path.partition(":")[0] == named)


@pytest.mark.parametrize(
    "watcher",
    [
        *WATCHERS[::2],
        # Each of these watchers guesses ids below; in the long form they read everything too.
        *(pytest.param(watcher, marks=_GUESSES) for watcher in WATCHERS[1::2]),
    ],
    ids=lambda watcher: watcher.name,
)
async def test_what_is_hidden_changes_no_answer(world: Brain, watcher: Watcher) -> None:
    visible = [thing for thing in everything() if not thing.hidden_from(watcher)]
    await left_by_others(world, visible[:: len(visible) // 4], age=0)
    async with watching(world, watcher) as (client, called):
        before = await told(watcher, client, called)
        ids = await left_by_others(world, [thing for thing in everything() if thing.hidden_from(watcher)])
        after = await told(watcher, client, called)

    assert differing(before, after) == {}
    assert len(ids["memory"]) >= 5
    assert [each for some in ids.values() for each in some if each in "".join(after.values())] == []


NAMED = sorted({(route.method, route.path) for route in ROUTES if "{id}" in route.path and route.permission != "admin"})
KINDS_OF = {
    "/v1/amygdala/halts": ("halt", "signal"),
    "/v1/amygdala": ("signal", "halt"),
    "/v1/brain/sessions": ("session",),
    "/v1/brain/subscriptions": ("subscription",),
    "/v1/messages": ("message",),
    "/v1/brain/memories": ("memory", "message"),
    "/v1/brain/forget": ("memory",),
    "/v1/thoughts": ("memory",),
    "/vault/arcs": ("arc",),
}
"""Which kinds of ids a route is asked for, by the beginning of its path; every kind if none is listed."""


@pytest.mark.parametrize("watcher", WATCHERS[1::2], ids=lambda watcher: watcher.name)
async def test_a_guessed_id_is_like_one_that_never_was(world: Brain, watcher: Watcher) -> None:
    """By every route and tool that takes an id, and as a resource; and the named thing is not changed."""
    hidden = await left_by_others(world, [thing for thing in everything() if thing.hidden_from(watcher)])
    rows = await world.store.memories.rows(hidden["memory"])
    session = {"session_id": watcher.session} if watcher.session else {}
    async with watching(world, watcher) as (client, called):
        for method, path in NAMED:
            params, body = (session if "/memories/" in path else {}), BODIES.get((method, path))

            async def answered(each: str) -> tuple[object, ...]:
                answer = await client.request(method, path.replace("{id}", each), params=params, json=body)  # noqa: B023
                return answer.status_code, answer.headers.get("etag"), answer.text.replace(each, "ID")

            for kind, some in _guessed(path, hidden).items():
                nothing = await answered(_unknown(kind))
                assert WORD not in str(nothing)
                for given in some:
                    assert await answered(given) == nothing, (method, path, kind)
        unknown = calls(*map(_unknown, ("memory", "signal", "arc", "recall", "subscription")))
        of_nothing = {tool: text(await called.call_tool(tool, arguments)) for tool, arguments in unknown.items()}
        for kind in ("memory", "signal", "arc", "subscription"):
            for given in hidden[kind][:12]:
                named = {
                    "memory": UNKNOWN,
                    "signal": UNKNOWN,
                    "arc": _unknown("arc"),
                    "subscription": UNKNOWN,
                    kind: given,
                }
                for tool, arguments in calls(**named).items():
                    if arguments == unknown[tool]:
                        continue
                    told_of = text(await called.call_tool(tool, arguments))
                    assert told_of.replace(given, "ID") == of_nothing[tool].replace(_unknown(kind), "ID"), (tool, kind)
        refusals = {await _resource(called, given) for given in (*hidden["memory"], UNKNOWN)}

    assert len(refusals) == 1
    assert await world.store.memories.rows(hidden["memory"]) == rows


def _guessed(path: str, hidden: Names) -> Mapping[str, Sequence[str]]:
    kinds = next((kinds for beginning, kinds in KINDS_OF.items() if path.startswith(beginning)), tuple(hidden))
    return {kind: hidden[kind] for kind in kinds}


def _unknown(kind: str) -> str:
    return {"session": f"{WORD}-none", "arc": "2026-01-02-none"}.get(kind, UNKNOWN)


async def _resource(called: Client, memory_id: str) -> str:
    with pytest.raises(Exception, match="no memory with this id") as refused:
        await called.read_resource(f"memory://{memory_id}")
    return str(refused.value).replace(memory_id, "ID")


async def test_who_may_see_it_is_told_of_it_by_each_of_them(world: Brain) -> None:
    """Without this the test above would prove nothing."""
    async with watching(world, SEES_ALL) as (client, called):
        await left_by_others(world, [Left("memory")], age=0)
        before = await told(SEES_ALL, client, called)
        await left_by_others(world, [dataclasses.replace(each, workspace="w") for each in everything()])
        after = await told(SEES_ALL, client, called)

    changed_by = {
        asked.split()[0] if " /" not in asked else " ".join(asked.split()[:2]) for asked in differing(before, after)
    }
    every = {" ".join(route) for route in readings(SEES_ALL)} | tool_readings(SEES_ALL).keys()
    assert every - changed_by <= SAME.keys()
