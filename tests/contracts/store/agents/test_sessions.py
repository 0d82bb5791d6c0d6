"""Sessions in both databases: who owns one, which agents take part, and what happens to its memories."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY, Memory, Reason, Scope
from openbrain.ports.agents import Policy, Session, Started
from openbrain.ports.store.writes import Origin
from tests.support.store.fixtures import START, FakeClock, write

ADA, BO, CY = (Viewer("w1", agent) for agent in ("ada", "bo", "cy"))
ORIGIN = Origin(actor="ada")


@pytest.fixture
def store(database: Database, clock: FakeClock) -> SqlStore:
    return SqlStore(database, clock)


async def start(store: SqlStore, viewer: Viewer, name: str = "s1", **changes: Any) -> Started:
    given = {"workspace_id": viewer.workspace_id, "agent_id": viewer.agent_id, "started_at": START, "project": "shop"}
    return await store.sessions.start_session(Session(id=name, **{**given, **changes}), viewer)


async def announced(store: SqlStore) -> list[Any]:
    entries = [each for each in await store.outbox.take(100) if each.stream == "agent.session_started"]
    return [orjson.loads(each.body)["data"]["agent_id"] for each in entries]


async def kept(store: SqlStore, content: str, agent: str = "ada", **changes: Any) -> Memory:
    given = {"agent_id": agent, "memory_scope": Scope.SESSION, "session_id": "s1", "created_at": START}
    (outcome,) = await store.writes.remember([write(content, **{**given, **changes})])
    assert outcome.memory is not None, outcome
    return outcome.memory


async def test_one_is_started_once_and_opened_again(store: SqlStore) -> None:
    results = await asyncio.gather(*(start(store, ADA) for _ in range(4)))
    session = results[0].session

    assert sorted(each.created for each in results) == [False, False, False, True]
    assert await announced(store) == ["ada"]
    ended = await store.sessions.end_session(session, None, START + 5, ORIGIN)
    assert ended.ended_at == START + 5
    again = await start(store, ADA, started_at=START + 9)
    assert (again.created, again.session) == (False, session), "unchanged, but open again"
    assert await announced(store) == ["ada", "ada"]


async def test_two_agents_use_the_same_id_for_two_sessions(store: SqlStore) -> None:
    await start(store, ADA)
    await start(store, BO, project="blog")
    await start(store, Viewer("w2", "ada"), project="other")

    found = [await store.sessions.session(viewer, "s1") for viewer in (ADA, BO, CY, Viewer("w2", "ada"))]
    assert [each and each.project for each in found] == ["shop", "blog", None, "other"]
    assert [await store.sessions.agents_of("w1", agent, "s1") for agent in ("ada", "bo", "cy")] == [
        ["ada"],
        ["bo"],
        (),
    ]


async def test_who_is_asked_in_and_comes_is_of_it(store: SqlStore) -> None:
    asked = await start(store, ADA, invited=("bo",), org="acme")
    assert await store.sessions.agents_of("w1", "ada", "s1") == ["ada"], "an invited agent has not joined yet"
    beta = replace(BO, orgs=("beta",), without_org=True)
    joined = await start(store, BO, project="mine")
    stranger = await start(store, CY)

    assert (joined.created, joined.session) == (False, asked.session)
    assert stranger.session.agent_id == "cy"
    assert await store.sessions.agents_of("w1", "ada", "s1") == ["ada", "bo"]
    assert await store.sessions.agents_of("w1", "bo", "s1") == ["ada", "bo"]
    assert await store.sessions.agents_of("w1", "cy", "s1") == ["cy"]
    assert await store.sessions.session(beta, "s1") is None
    assert await announced(store) == ["ada", "bo", "cy"]


async def test_the_id_of_a_session_that_the_key_s_orgs_hide_is_a_conflict(store: SqlStore) -> None:
    await start(store, ADA, org="acme")

    with pytest.raises(Conflict, match="take another id"):
        await start(store, replace(ADA, orgs=("beta",)), org="beta")
    assert (await start(store, ADA)).session.org == "acme"


async def test_they_are_listed_in_pages(store: SqlStore) -> None:
    for number in range(5):
        made = await start(store, ADA, f"s{number}", started_at=START + number, project=f"p{number % 2}")
        if number == 4:
            await store.sessions.end_session(made.session, None, START + 9, ORIGIN)
    await start(store, BO, "s9")

    first = await store.sessions.sessions(ADA, 3, open_only=False)
    rest = await store.sessions.sessions(ADA, 3, (first[-1].started_at, first[-1].id), open_only=False)
    assert [each.id for each in (*first, *rest)] == ["s4", "s3", "s2", "s1", "s0"]
    assert [each.id for each in await store.sessions.sessions(ADA, 9, project="p0", open_only=True)] == ["s2", "s0"]


@pytest.mark.parametrize(("policy", "days"), [(Policy.EXPIRE, 7), (Policy.STAY, None), (Policy.PROMOTE, 7)])
async def test_memories_end_by_the_policy(store: SqlStore, policy: Policy, days: int | None) -> None:
    await start(store, ADA, policy=policy)
    ends = None if days is None else START + days * DAY

    assert (await kept(store, "one")).expires_at == ends
    assert (await kept(store, "says when", expires_at=START + DAY)).expires_at == START + DAY
    assert (await kept(store, "of nobody's session", agent="cy")).expires_at is None
    assert (await kept(store, "elsewhere", session_id="s2")).expires_at is None
    assert (await kept(store, "no session's", memory_scope=Scope.PROJECT)).expires_at is None


async def test_what_is_promoted_is_the_projects(store: SqlStore, clock: FakeClock) -> None:
    session = (await start(store, ADA, policy=Policy.PROMOTE, invited=("bo",))).session
    await start(store, BO)
    rows = [await kept(store, f"m{number}", "ada" if number % 2 else "bo") for number in range(5)]
    turn = await kept(store, "a turn", turn=1)
    foreign = await kept(store, "another's", "cy")
    known = await kept(store, "known already", memory_scope=Scope.PROJECT, project="shop")
    same = await kept(store, "known already", project="shop")
    clock.advance(DAY)

    done, after = 0, None
    for _ in range(9):
        step = await store.sessions.promote(session, ADA, 2, ORIGIN, after)
        done, after = done + step.rows, step.after
        if after is None:
            break
    assert done == len(rows)
    found = await store.memories.rows([each.id for each in (*rows, turn, foreign, known, same)])
    for each in rows:
        now = found[each.id]
        assert (now.memory_scope, now.project, now.expires_at) == (Scope.PROJECT, "shop", None)
        assert (now.revision, now.audience) == (2, "*")
    assert found[turn.id].memory_scope is found[foreign.id].memory_scope is found[same.id].memory_scope is Scope.SESSION
    assert (await store.sessions.promote(session, ADA, 9, ORIGIN)).rows == 0


async def test_what_the_key_must_not_see_is_not_promoted(store: SqlStore) -> None:
    """The agent's other key has used the id of the session in another org."""
    of_alpha = Viewer("w1", "ada", orgs=("alpha",), without_org=False)
    session = (await start(store, of_alpha, policy=Policy.PROMOTE, org="alpha")).session
    rows = [await kept(store, f"of {org}", org=org) for org in ("alpha", "beta", "")]

    assert (await store.sessions.promote(session, of_alpha, 9, ORIGIN)).rows == 1

    found = await store.memories.rows([each.id for each in rows])
    assert [found[each.id].memory_scope for each in rows] == [Scope.PROJECT, Scope.SESSION, Scope.SESSION]


async def test_what_is_promoted_keeps_the_expiry_that_its_writer_set(store: SqlStore) -> None:
    session = (await start(store, ADA, policy=Policy.PROMOTE)).session
    rows = [await kept(store, "until tomorrow", expires_at=START + DAY), await kept(store, "lasting")]
    await store.sessions.promote(session, ADA, 9, ORIGIN)

    found = await store.memories.rows([each.id for each in rows])
    assert [found[each.id].memory_scope for each in rows] == [Scope.PROJECT] * 2
    assert [found[each.id].expires_at for each in rows] == [START + DAY, None]


async def test_without_a_project_it_is_the_agents(store: SqlStore) -> None:
    session = (await start(store, ADA, policy=Policy.PROMOTE, project="")).session
    row = await kept(store, "a habit")
    await store.sessions.promote(session, ADA, 9, ORIGIN)

    found = (await store.memories.rows([row.id]))[row.id]
    assert (found.memory_scope, found.audience) == (Scope.AGENT, "agent:ada")


async def test_hand_overs_come_newest_first_though_their_sessions_are_open_again(store: SqlStore) -> None:
    left = [uuid7(START + number * DAY) for number in range(4)]
    for number, hand_over in enumerate(left):
        made = await start(store, ADA, f"s{number}")
        await store.sessions.end_session(made.session, hand_over, START + number * DAY + 5, ORIGIN)
    for number in (3, 0):
        await start(store, ADA, f"s{number}")

    assert await store.sessions.hand_overs(BO, "", "shop", 9) == left[::-1]
    assert await store.sessions.hand_overs(BO, "", "shop", 2) == [left[3], left[2]]


async def test_of_two_agents_that_end_a_session_at_once_the_last_leaves_the_hand_over(store: SqlStore) -> None:
    seen = (await start(store, ADA, invited=("bo",))).session
    await start(store, BO)
    first, last = [await kept(store, f"left by {name}", name, memory_scope=Scope.PROJECT) for name in ("ada", "bo")]

    await store.sessions.end_session(seen, first.id, START + 5, ORIGIN)
    ended = await store.sessions.end_session(seen, last.id, START + 6, ORIGIN)
    same = await store.sessions.end_session(seen, last.id, START + 7, ORIGIN)
    without = await store.sessions.end_session(ended, None, START + 8, ORIGIN)

    rows = await store.memories.rows([first.id, last.id])
    assert [rows[each.id].reason for each in (first, last)] == [Reason.SUPERSEDED, None]
    assert {each.hand_over_id for each in (ended, same, without)} == {last.id}
    assert (await store.memories.ancestry(last.id, 9)).parents == (first.id,)
