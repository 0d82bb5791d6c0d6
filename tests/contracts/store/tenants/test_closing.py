"""Contract of `ports.tenants.Workspaces`: closing a tenant, on every database."""

from typing import Any

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.tables import metadata, recalls, workspace_usage
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.errors import NeverRetry, NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Reason
from openbrain.ports.lifecycle import PolicyDocument
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Mark
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.tenants import CLOSE, Workspace
from openbrain.usecases.auth import hash_secret, issue
from openbrain.usecases.submit import Tenants
from tests.support.store.direct_rows import put_into
from tests.support.store.fixtures import START, FakeClock, rows, stored, viewer, write


def closing(workspace: str = "w1") -> Operation:
    return Operation(id=uuid7(START), workspace_id="system", kind=CLOSE, actor="op", request={"workspace": workspace})


async def tenant(store: SqlStore, database: Database, name: str, contents: int = 3) -> str:
    """A workspace with something in every table; returns its key's hash."""
    await store.workspaces.create_workspace(Workspace(id=name, name=name, created_at=START))
    key, secret = issue(workspace_id=name, name="k", permissions=frozenset(Permission), now=START)
    await store.api_keys.create_key(key, hash_secret(secret))
    first = await stored(store.writes, f"{name} zero", workspace_id=name, viewer=viewer(name), idempotency_key="k")
    more: dict[str, Any] = {"workspace_id": name, "viewer": viewer(name)}
    await store.writes.remember([write(f"{name} one", supersedes_id=first.id, **more)])
    await store.writes.remember([write(f"{name} {number}", **more) for number in range(contents - 2)])
    recall: dict[str, Any] = {"id": uuid7(START), "workspace_id": name, "query": "", "results": "[]"}
    await put_into(database, recalls, recall | {"took_ms": 1.0, "created_at": START})
    if not await rows(database, f"SELECT * FROM workspace_usage WHERE workspace_id = '{name}'"):
        usage = {"workspace_id": name, "memories": 1, "bytes": 1, "counted_at": START}
        await put_into(database, workspace_usage, usage)
    await store.operations.start_operation(Operation(id=uuid7(START), workspace_id=name, kind="other", actor="ada"))
    return hash_secret(secret)


async def holding(database: Database, name: str) -> list[str]:
    """Tables that still contain its name."""
    held = {str(table.name): await rows(database, f"SELECT * FROM {table.name}") for table in metadata.sorted_tables}
    return [table for table, found in held.items() if name in repr(found)]


async def test_what_it_holds_is_counted(store: SqlStore, database: Database) -> None:
    await tenant(store, database, "w1", contents=5)

    counts = await store.workspaces.workspace_counts("w1")

    assert {type(name) for name in counts} == {str}
    assert (counts["memories"], counts["api_keys"], counts["idempotency_keys"], counts["operations"]) == (5, 1, 1, 1)
    with pytest.raises(NotFound):
        await store.workspaces.workspace_counts("w2")


async def test_what_a_legal_hold_covers_is_counted_before_it_is_deleted(store: SqlStore, database: Database) -> None:
    for name in ("w1", "w2"):
        await tenant(store, database, name, contents=3)
    await store.policies.set_document(PolicyDocument(workspace_id="w1", given={}, holds=(Criteria(),)))

    assert (await store.workspaces.workspace_counts("w1"))["held"] == 3
    assert "held" not in await store.workspaces.workspace_counts("w2")


async def test_its_keys_open_nothing_at_once(store: SqlStore, database: Database, clock: FakeClock) -> None:
    secret_hash, other = await tenant(store, database, "w1"), await tenant(store, database, "w2")
    tenants = Tenants(store.workspaces, fresh_s=0)
    await tenants.require("w1")
    assert await store.api_keys.key_by_hash(secret_hash) is not None
    asked = closing()

    first, again = (
        await store.workspaces.close_workspace("w1", asked),
        await store.workspaces.close_workspace("w1", closing()),
    )

    assert first == again
    assert await store.api_keys.key_by_hash(secret_hash) is None
    assert await store.api_keys.key_by_hash(other) is not None
    assert [each.id for each in await store.workspaces.workspaces()] == ["w2"]
    with pytest.raises(NeverRetry, match="not an existing workspace"):
        await tenants.require("w1")
    key, secret = issue(workspace_id="w1", name="late", permissions=frozenset(Permission), now=START)
    with pytest.raises(NotFound):
        await store.api_keys.create_key(key, hash_secret(secret))
    with pytest.raises(NotFound):
        await store.workspaces.close_workspace("w3", closing("w3"))


async def test_memories_are_blanked_and_go_when_the_indexes_have_let_go(store: SqlStore, database: Database) -> None:
    await tenant(store, database, "w1", contents=5)
    await tenant(store, database, "w2")
    await store.workspaces.close_workspace("w1", closing())

    first = await store.workspaces.erase_all("w1", 3)
    rest = [await store.workspaces.erase_all("w1", 3, since=first.reached) for _ in range(2)]
    assert [each.rows for each in (first, *rest)] == [3, 2, 0]
    assert (await store.workspaces.erase_all("w1", 3)).rows == 0
    found = await rows(database, "SELECT id, revision, reason, content FROM memories WHERE workspace_id = 'w1'")
    assert {(each["reason"], each["content"]) for each in found} == {(Reason.ERASED, "")}
    waiting = await store.workspaces.drop_rows("w1", 10)
    assert (waiting.rows, waiting.waiting) == (0, 5)
    for kind in IndexKind:
        await store.index_marks.mark(kind, [Mark(each["id"], each["revision"]) for each in found])
    dropped = await store.workspaces.drop_rows("w1", 3)
    assert (dropped.rows, dropped.waiting) == (3, 2)
    assert (await store.workspaces.drop_rows("w1", 3)).waiting == 0
    assert len(await rows(database, "SELECT * FROM memories WHERE workspace_id = 'w2'")) == 3
    assert len(await rows(database, "SELECT * FROM memory_lineage")) == 1


async def test_nothing_names_it_in_the_end_but_the_operation(store: SqlStore, database: Database) -> None:
    await tenant(store, database, "tenant-to-go")
    await tenant(store, database, "tenant-to-stay")
    asked = await store.workspaces.close_workspace("tenant-to-go", closing("tenant-to-go"))
    await store.workspaces.erase_all("tenant-to-go", 100)
    found = await rows(database, "SELECT id, revision FROM memories WHERE workspace_id = 'tenant-to-go'")
    for kind in IndexKind:
        await store.index_marks.mark(kind, [Mark(each["id"], each["revision"]) for each in found])
    await store.workspaces.drop_rows("tenant-to-go", 100)
    stays = await holding(database, "tenant-to-stay")

    gone = await store.workspaces.drop_workspace("tenant-to-go", asked.id)
    again = await store.workspaces.drop_workspace("tenant-to-go", asked.id)

    assert gone["api_keys"] == gone["recalls"] == gone["operations"] == 1
    assert set(again.values()) == {0}
    assert await holding(database, "tenant-to-go") == ["operations"]
    assert await holding(database, "tenant-to-stay") == stays
    assert (await store.operations.operation("system", asked.id)) is not None
