"""Contract of `ports.store.Access`, on every database."""

from dataclasses import replace
from typing import cast

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.tenants.api_keys import SqlApiKeys
from openbrain.adapters.sql.tenants.workspaces import SqlWorkspaces
from openbrain.adapters.sql.writes.quotas import Quotas
from openbrain.domain import limits
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.ids import joined_hash, uuid7
from openbrain.ports.content import Action
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.tenants import CLOSE, ApiKey, Workspace
from tests.support.store.fixtures import START, FakeClock
from tests.support.store.parts import LostResponses

KEY = ApiKey(
    id=uuid7(START),
    workspace_id="w1",
    name="laptop",
    agent_id="ada",
    permissions=frozenset({"brain.read", "brain.write"}),
    orgs=("acme", 'Äcme, "Inc"'),
    without_org=False,
    act_as=("bob", "*"),
    created_at=START,
    expires_at=START + 5,
)
SECRET = joined_hash("secret")


def workspace(name: str) -> Workspace:
    return Workspace(id=name, name=f"The {name}", created_at=START)


async def test_workspaces_are_listed_by_id(store: SqlStore) -> None:
    for name in ("b", "a", "B"):
        assert await store.workspaces.create_workspace(workspace(name)) == workspace(name)

    assert await store.workspaces.workspaces() == [workspace("B"), workspace("a"), workspace("b")]
    with pytest.raises(Conflict):
        await store.workspaces.create_workspace(replace(workspace("a"), name="another"))
    assert (await store.workspaces.workspaces())[1].name == "The a"


async def test_a_key_comes_back_by_its_hash(store: SqlStore) -> None:
    await store.workspaces.create_workspace(workspace("w1"))
    plain = ApiKey(id=uuid7(START), workspace_id="w1", name="x", agent_id="", permissions=frozenset(), orgs=None)

    await store.api_keys.create_key(KEY, SECRET)
    await store.api_keys.create_key(KEY, SECRET)
    await store.api_keys.create_key(plain, joined_hash("plain"))

    assert await store.api_keys.key_by_hash(SECRET) == KEY
    assert await store.api_keys.key_by_hash(joined_hash("plain")) == plain
    assert await store.api_keys.key_by_hash(joined_hash("other")) is None
    assert await store.api_keys.key_by_hash(SECRET.upper()) is None
    assert await store.api_keys.keys("w1") == [KEY, plain]
    assert await store.api_keys.keys("W1") == []


async def test_no_key_without_a_workspace(store: SqlStore) -> None:
    await store.workspaces.create_workspace(workspace("W1"))
    with pytest.raises(NotFound):
        await store.api_keys.create_key(KEY, SECRET)
    assert await store.api_keys.key_by_hash(SECRET) is None


async def test_neither_id_nor_secret_is_used_twice(store: SqlStore) -> None:
    await store.workspaces.create_workspace(workspace("w1"))
    await store.api_keys.create_key(KEY, SECRET)

    with pytest.raises(Conflict):
        await store.api_keys.create_key(KEY, joined_hash("new"))
    with pytest.raises(Conflict):
        await store.api_keys.create_key(replace(KEY, id=uuid7(START), agent_id="eve"), SECRET)

    assert await store.api_keys.keys("w1") == [KEY]


async def test_keys_that_open_something_are_told_from_those_that_ended(store: SqlStore) -> None:
    await store.workspaces.create_workspace(workspace("w1"))
    await store.workspaces.create_workspace(workspace("w2"))
    ends = {"lasting": None, "later": START + 10, "now": START, "past": START - 1, "revoked": None, "closed": None}
    keys = {
        name: replace(KEY, id=uuid7(START), workspace_id="w2" if name == "closed" else "w1", expires_at=at)
        for name, at in ends.items()
    }
    for name, key in keys.items():
        await store.api_keys.create_key(key, joined_hash(name))
    many = [uuid7(START) for _ in range(1500)]
    await store.api_keys.revoke_key("w1", keys["revoked"].id)
    close = Operation(id=uuid7(START), workspace_id="system", kind=CLOSE, actor="op", request={"workspace": "w2"})
    await store.workspaces.close_workspace("w2", close)

    ids = [*(key.id for key in keys.values()), *many]
    assert await store.api_keys.open_keys(ids, START) == {keys["lasting"].id, keys["later"].id}
    assert await store.api_keys.open_keys(ids, START + 10) == {keys["lasting"].id}
    assert await store.api_keys.open_keys([], START) == frozenset()


async def test_a_workspace_has_so_many_keys_at_once(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended keys, and those of other workspaces, are not counted."""
    monkeypatch.setattr(limits, "KEYS", 3)
    await store.workspaces.create_workspace(workspace("w1"))
    await store.workspaces.create_workspace(workspace("w2"))
    keys = [replace(KEY, id=uuid7(START), expires_at=None) for _ in range(4)]
    await store.api_keys.create_key(replace(KEY, id=uuid7(START), expires_at=START - 1), joined_hash("past"))
    for number, key in enumerate(keys[:3]):
        await store.api_keys.create_key(key, joined_hash(f"key {number}"))
    with pytest.raises(Conflict, match="3 keys at once"):
        await store.api_keys.create_key(keys[3], joined_hash("key 3"))
    assert await store.api_keys.key_by_hash(joined_hash("key 3")) is None
    await store.api_keys.create_key(keys[2], joined_hash("key 2"))
    await store.api_keys.create_key(replace(KEY, id=uuid7(START), workspace_id="w2"), joined_hash("beside"))

    await store.api_keys.revoke_key("w1", keys[0].id)
    await store.api_keys.create_key(keys[3], joined_hash("key 3"))
    assert len(await store.api_keys.keys("w1")) == 5


async def test_a_key_is_revoked_within_its_workspace(store: SqlStore, clock: FakeClock) -> None:
    await store.workspaces.create_workspace(workspace("w1"))
    await store.workspaces.create_workspace(workspace("w2"))
    await store.api_keys.create_key(KEY, SECRET)

    assert not await store.api_keys.revoke_key("w2", KEY.id)
    assert not await store.api_keys.revoke_key("w1", uuid7(START))
    assert await store.api_keys.key_by_hash(SECRET) == KEY
    assert await store.api_keys.revoke_key("w1", KEY.id)
    clock.advance(9)
    assert await store.api_keys.revoke_key("w1", KEY.id)

    assert await store.api_keys.key_by_hash(SECRET) == replace(KEY, revoked_at=START)


async def test_lost_responses_to_commits_make_one_workspace_and_one_key(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    twice = cast("Database", LostResponses(database))
    made = replace(workspace("w1"), max_memories=5, personal_data=Action.MASK)

    assert await SqlWorkspaces(twice, clock, Quotas(clock)).create_workspace(made) == made
    assert await store.workspaces.workspaces() == [made]
    await store.api_keys.create_key(KEY, SECRET)
    following = replace(KEY, id=uuid7(START), replaces_id=KEY.id)
    replaced = await SqlApiKeys(twice, clock).replace_key(following, joined_hash("new"), clock.now())

    assert replaced == replace(KEY, expires_at=clock.now()), "it ends at once"
    assert await store.api_keys.key_by_hash(joined_hash("new")) == following
