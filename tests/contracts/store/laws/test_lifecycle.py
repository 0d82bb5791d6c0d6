"""Properties of pruning, for any kind of memory: only selected rows go, and a higher threshold removes more."""

import asyncio
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.contract.admin.lifecycle import LifecycleBody, PruneBody, RefileBody
from openbrain.domain.memory import DAY, Memory, MemoryType, Scope
from openbrain.ports.lifecycle import PRUNE, REFILE
from openbrain.ports.store.operations import Operation
from tests.support.store.fixtures import START, FakeClock, memory, origin, row, viewer, write
from tests.support.store.lifecycle_worker import worker

CONFIDENCES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
MEMORIES = st.lists(
    st.fixed_dictionaries(
        {
            "workspace_id": st.sampled_from(["w1", "w2"]),
            "project": st.sampled_from(["", "shop", "trial"]),
            "memory_scope": st.sampled_from([Scope.PROJECT, Scope.AGENT, Scope.SHARED]),
            "type": st.sampled_from([MemoryType.OBSERVATION, MemoryType.CONVENTION, MemoryType.FACT]),
            "confidence": CONFIDENCES,
            "tags": st.sampled_from([(), ("a", "pinned")]),
            "age": st.integers(0, 200),
        }
    ),
    min_size=1,
    max_size=8,
)
"""Ages in days."""
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "max_confidence": CONFIDENCES,
        "max_effective_confidence": CONFIDENCES,
        "min_confidence": CONFIDENCES,
        "unrecalled_days": st.integers(0, 200),
        "project": st.sampled_from(["shop", "trial"]),
        "type": st.sampled_from(["observation", "fact"]),
    },
)
"""Some of these are thresholds, the others selections."""
NOW = START + 400 * DAY
HOLD = '[{"project":"trial","only_project":true}]'


async def pruned(store: SqlStore, clock: FakeClock, number: int, limits: Mapping[str, Any], **more: Any) -> set[str]:
    """The ids that a run reports."""
    return await ran(store, clock, number, PRUNE, PruneBody(**limits, **more))


async def ran(store: SqlStore, clock: FakeClock, number: int, kind: str, body: LifecycleBody) -> set[str]:
    asked = Operation(
        id=f"0198f3a2-5c1e-7b6d-9a55-{number:012x}",
        workspace_id="w1",
        kind=kind,
        actor="ada",
        request=body.request("w1", clock.now()),
    )
    await store.operations.start_operation(asked)
    one = worker(store, clock)
    while await one.round():
        pass
    ended = await store.operations.operation("w1", asked.id)
    assert ended is not None
    assert ended.status == "done", ended.error
    return {each["id"] for each in ended.result["examples"]}


async def test_pruning_touches_what_is_selected_alone(database: Database) -> None:
    clock = FakeClock(NOW)
    store, turns = SqlStore(database, clock), iter(range(1, 10**6))
    loop = asyncio.get_running_loop()

    async def law(made: list[dict[str, Any]], limits: dict[str, Any], days: int, higher: float) -> None:
        await database.write(_emptied)
        rows = [_memory(number, each) for number, each in enumerate(made)]
        for each in rows:
            given_by = viewer(each.workspace_id)
            await store.writes.remember([write(viewer=given_by, origin=origin(), **_fields(each))])
        dry = await pruned(store, clock, next(turns), limits, older_than_days=days)
        wider = {**limits, **{name: max(limits[name], higher) for name in limits if "confidence" in name}}
        more = await pruned(store, clock, next(turns), wider, older_than_days=days)
        done = await pruned(store, clock, next(turns), limits, older_than_days=days, dry_run=False)
        after = {each.id: await row(database, each.id) for each in rows}

        assert dry == done == {id_ for id_, each in after.items() if each.reason is not None}
        assert dry <= more
        for each in rows:
            if each.id in done:
                assert each.workspace_id == "w1"
                assert each.project != "trial"
                assert "pinned" not in each.tags
                assert NOW - each.created_at >= days * DAY
        await unwidened(rows, days)

    async def unwidened(rows: list[Memory], days: int) -> None:
        """Refiling respects the same boundaries, and never lets anybody see more."""
        before = {each.id: await row(database, each.id) for each in rows}
        moved = await ran(
            store, clock, next(turns), REFILE, RefileBody(older_than_days=days, to_project="new", dry_run=False)
        )
        for id_, old in before.items():
            now = await row(database, id_)
            if id_ not in moved:
                assert now == old
                continue
            assert (old.workspace_id, old.reason, now.project) == ("w1", None, "new")
            assert old.project not in {"trial", "new"}
            assert "pinned" not in old.tags
            assert NOW - old.created_at >= days * DAY
            assert (now.audience, now.org, now.content) == (old.audience, old.org, old.content)

    @settings(max_examples=25)
    @given(MEMORIES, LIMITS, st.integers(1, 200), CONFIDENCES)
    def examined(made: list[dict[str, Any]], limits: dict[str, Any], days: int, higher: float) -> None:
        asyncio.run_coroutine_threadsafe(law(made, limits, days, higher), loop).result()

    await asyncio.to_thread(examined)


def _memory(number: int, drawn: dict[str, Any]) -> Memory:
    fields = {name: value for name, value in drawn.items() if name != "age"}
    return memory(f"number {number}", NOW - drawn["age"] * DAY, **fields)


def _fields(each: Memory) -> dict[str, Any]:
    names = ("id", "workspace_id", "project", "memory_scope", "type", "confidence", "content", "tags")
    return {name: getattr(each, name) for name in names} | {"now": each.created_at}


def _emptied(connection: Any) -> int:
    for table in ("memories", "memory_history", "operations", "operation_changes", "lifecycle_policies"):
        connection.exec_driver_sql(f"DELETE FROM {table}")
    connection.exec_driver_sql(
        "INSERT INTO lifecycle_policies (workspace_id, document, holds, actor, updated_at)"
        f" VALUES ('w1', '{{}}', '{HOLD}', 'ada', 0)"
    )
    return 0
