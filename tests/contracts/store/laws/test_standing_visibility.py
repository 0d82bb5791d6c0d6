"""Under any order of remembering, moving, ending, subscribing and revoking: a match is delivered exactly to those who
may see the memory, and no inbox shows a word that is not visible when it is read."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Memory, Scope
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.writes import Edit
from openbrain.ports.subscriptions import StandingQuery
from openbrain.usecases.auth import hash_secret, issue
from openbrain.usecases.content.inbox import shown_messages
from openbrain_matcher.jobs.backlog import match_queued
from openbrain_matcher.matching.books import Books
from tests.support.forms import examples
from tests.support.store.fixtures import START, FakeClock, origin, write
from tests.support.store.schema import make_tables

WORKSPACES = ("one", "two")
AGENTS = ("ada", "bo")
ORGS = ("", "acme", "beta")
workspaces, agents, orgs = st.sampled_from(WORKSPACES), st.sampled_from(AGENTS), st.sampled_from(ORGS)
narrow = st.sampled_from((None, ("acme",), ("acme", "beta")))
SUBSCRIBES = st.tuples(st.just("subscribe"), workspaces, agents, narrow, st.booleans())
REMEMBERS = st.tuples(st.just("remember"), workspaces, agents, orgs, st.sampled_from(Scope))
MOVES = st.tuples(
    st.just("move"),
    st.integers(0, 3),
    st.fixed_dictionaries({}, optional={"org": orgs, "memory_scope": st.sampled_from((Scope.AGENT, Scope.SHARED))}),
)
ENDS = st.tuples(st.sampled_from(("forget", "restore", "revoke")), st.integers(0, 3))
STEPS = st.lists(st.one_of(SUBSCRIBES, SUBSCRIBES, REMEMBERS, REMEMBERS, MOVES, ENDS), min_size=3, max_size=12)


class World:
    """A database in which every example has its own two workspaces."""

    def __init__(self, url: str) -> None:
        self.runner, self.clock = asyncio.Runner(), FakeClock()
        self.database = open_database(url, pool=2)
        self.runner.run(self.database.write(make_tables))
        self.store = SqlStore(self.database, self.clock)
        self.number = 0

    async def begin(self) -> None:
        self.number += 1
        self.books = Books(self.store.standing_queries, self.clock)
        self.queries: list[StandingQuery] = []
        self.revoked: set[str] = set()
        self.memories: list[str] = []
        self.heard: set[tuple[str, str, int]] = set()
        for name in WORKSPACES:
            await self.store.workspaces.create_workspace(Workspace(id=self.own(name), name=name, created_at=START))

    def own(self, workspace: str) -> str:
        return f"{workspace}{self.number}"

    async def step(self, doing: tuple[Any, ...]) -> None:
        self.clock.advance(1)
        before = len(self.memories)
        with contextlib.suppress(NotFound):
            await getattr(self, doing[0])(*doing[1:])
        while await match_queued(self.store, self.books, self.clock):
            pass
        await self.judge(set(self.memories[before:]))

    async def subscribe(self, workspace: str, agent: str, orgs: tuple[str, ...] | None, without_org: bool) -> None:
        name, now = self.own(workspace), self.clock.now()
        key, secret = issue(workspace_id=name, name="k", permissions=frozenset(Permission), now=now)
        await self.store.api_keys.create_key(key, hash_secret(secret))
        made = StandingQuery(
            id=uuid7(now),
            workspace_id=name,
            agent_id=agent,
            key_id=key.id,
            orgs=orgs,
            without_org=without_org,
            include_own=True,
            created_at=now,
        )
        self.queries.append(await self.store.standing_queries.add_query(made, {}))

    async def remember(self, workspace: str, agent: str, org: str, scope: Scope) -> None:
        name, now = self.own(workspace), self.clock.now()
        said = {"workspace_id": name, "agent_id": agent, "org": org, "memory_scope": scope, "session_id": "s"}
        by = Viewer(name, agent)
        made = write(f"said at {now}", now=now, viewer=by, wants_vector=False, **said)
        (outcome,) = await self.store.writes.remember([made])
        assert outcome.memory is not None
        self.memories.append(outcome.memory.id)

    async def move(self, number: int, changes: dict[str, Any]) -> None:
        if (row := await self.chosen(number)) is not None and changes:
            by = Viewer(row.workspace_id, row.agent_id)
            await self.store.writes.update(Edit(memory_id=row.id, viewer=by, origin=origin(), authors=None, **changes))

    async def forget(self, number: int) -> None:
        if (row := await self.chosen(number)) is not None:
            await self.store.writes.forget(row.id, Viewer(row.workspace_id, row.agent_id), origin(), "")

    async def restore(self, number: int) -> None:
        if (row := await self.chosen(number)) is not None:
            await self.store.writes.restore(row.id, Viewer(row.workspace_id, row.agent_id), origin(), "")

    async def revoke(self, number: int) -> None:
        if self.queries:
            query = self.queries[number % len(self.queries)]
            await self.store.api_keys.revoke_key(query.workspace_id, query.key_id)
            self.revoked.add(query.id)

    async def chosen(self, number: int) -> Memory | None:
        if not self.memories:
            return None
        memory_id = self.memories[number % len(self.memories)]
        return (await self.store.memories.rows([memory_id]))[memory_id]

    async def judge(self, new: set[str]) -> None:
        """Check what the last step delivered, and what all inboxes show now."""
        rows = await self.store.memories.rows(self.memories)
        queries = {query.id: query for query in self.queries}
        delivered: set[tuple[str, str]] = set()
        for workspace in map(self.own, WORKSPACES):
            for agent in AGENTS:
                for message in await self.store.messages.inbox(Viewer(workspace, agent), 100):
                    query, row = queries[message.subscription_id or ""], rows[message.memory_id or ""]
                    assert (query.workspace_id, query.agent_id) == (workspace, agent)
                    delivered.add((query.id, row.id))
                    came = (query.id, row.id, message.seq)
                    if came not in self.heard and message.withdrawn_at is None:
                        assert query.id not in self.revoked
                        assert may_see(query, row), (query, row)
                    self.heard.add(came)
        for query in self.queries:
            inbox = await self.store.messages.inbox(query.viewer, 100)
            shown = await shown_messages(self.store.memories, query.viewer, inbox, self.clock.now())
            for each in shown:
                assert each.match is not None
                assert not each.content or may_see(query, rows[each.match.memory_id])
            for memory_id in new:
                if query.id not in self.revoked and may_see(query, rows[memory_id]):
                    assert (query.id, memory_id) in delivered

    def close(self) -> None:
        self.runner.run(self.database.close())
        self.runner.close()


def may_see(query: StandingQuery, row: Memory) -> bool:
    """Written independently of the product's predicate: tenant, the key's orgs, and agent scope."""
    if row.workspace_id != query.workspace_id or row.deleted_at is not None or row.memory_scope is Scope.SESSION:
        return False
    of_org = query.orgs is None or (row.org in query.orgs if row.org else query.without_org)
    return of_org and (row.memory_scope is not Scope.AGENT or row.agent_id == query.agent_id)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('standing')}/truth.db")
    yield made
    made.close()


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_a_match_is_delivered_to_whom_the_memory_is_visible_and_to_nobody_else(
    world: World, steps: list[tuple[Any, ...]]
) -> None:
    async def lived() -> None:
        await world.begin()
        for doing in steps:
            await world.step(doing)

    world.runner.run(lived())
