"""Dry run of a job's step: the same decisions and conflicts, without writing."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from openbrain.adapters.sql.memories.rows import read_rows
from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.tenants.lifecycle.applying import possible, rewritten
from openbrain.adapters.sql.tenants.lifecycle.subjects import decided, eligible
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.adapters.sql.writes.locked_reads import holders
from openbrain.ports.lifecycle import Action, Change, Decide, GroupResult, Selection, Subject


def look(
    connection: Connection, selection: Selection, groups: Sequence[Sequence[str]], decide: Decide, now: int
) -> Sequence[GroupResult]:
    rows = read_rows(connection, [item for ids in groups for item in ids])
    allowed = eligible(connection, selection, [row for row in rows if not row.ended])
    results = [decided(allowed, ids, decide) for ids in groups]
    refused = _refused(connection, [change for result in results for change in result.changes], allowed.subjects, now)
    made = [possible(result.changes, refused) for result in results]
    return [
        result._replace(changes=changes, conflicts=len(result.changes) - len(changes))
        for result, changes in zip(results, made, strict=True)
    ]


def _refused(
    connection: Connection, changes: Sequence[Change], subjects: Mapping[str, Subject], now: int
) -> Sequence[Change]:
    """Return the rewrites whose text another live memory would have at that point, in the order of execution."""
    wanted = {change.memory_id: change for change in changes if change.action is Action.REWRITTEN}
    unique = memories.c.id.in_(wanted), memories.c.dedupe_key.is_not(None)
    ids = set(connection.scalars(select(memories.c.id).where(*unique))) if wanted else set()
    befores = {id_: subjects[id_].memory for id_ in wanted if id_ in ids}
    keys = {id_: dedupe_key(rewritten(before, wanted[id_].after or before, now)) for id_, before in befores.items()}
    holding = {key: memory.id for key, memory in holders(connection, list(keys.values())).items() if memory.alive(now)}
    refused: list[Change] = []
    for memory_id, key in keys.items():
        behind = {change.memory_id for change in changes if change.into == memory_id}
        if holding.get(key, memory_id) not in {memory_id, *behind}:
            refused.append(wanted[memory_id])
            continue
        superseded = {memory_id, *behind}
        holding = {of: holder for of, holder in holding.items() if holder not in superseded} | {key: memory_id}
    return refused
