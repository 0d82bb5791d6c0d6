"""Embeddings and passages as rows."""

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from openbrain.adapters.sql.engine.statements import chunks, is_sqlite, slot, slots, upsert
from openbrain.adapters.sql.schema.column_types import to_bytes
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.tables import former_inputs
from openbrain.ports.store.index_entries import Embedded

_VECTORS_IN_ONE = 64
"""Vectors with token states per statement: some megabytes for long inputs."""


def add_embeddings(
    connection: Connection,
    vectors: Mapping[str, "array[float]"],
    states: Mapping[str, bytes],
    model: str,
    now: int,
    *,
    replace: bool = False,
) -> None:
    """Save embeddings. Existing vectors are kept, since equal inputs have equal vectors, unless `replace`. Given token
    states replace existing ones. Marks of `unused_vectors` are removed."""
    rows = [
        (input_hash, model, to_bytes(vector), states.get(input_hash), now)
        for input_hash, vector in sorted(vectors.items())
    ]
    insert = "INSERT INTO embeddings (input_hash, model, vector, states, created_at) VALUES "
    for some in chunks(rows, _VECTORS_IN_ONE):
        if is_sqlite(connection):
            kept = "states = COALESCE(excluded.states, states), created_at = excluded.created_at"
            new = "created_at < 0 OR (excluded.states IS NOT NULL AND states IS NOT excluded.states)"
            kept = f"vector = excluded.vector, {kept}" if replace else f"{kept} WHERE {new}"
            connection.exec_driver_sql(f"{insert} (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {kept}", list(some))
        else:
            # As literals: the driver takes fifteen times as long for binary parameters.
            values = ", ".join(f"(%s, %s, X'{row[2].hex()}', {_literal(row[3])}, %s)" for row in some)
            given = tuple(value for input_hash, _, _, _, at in some for value in (input_hash, model, at))
            kept = "vector = VALUES(vector), " if replace else ""
            kept += "states = COALESCE(VALUES(states), states), "
            kept += "created_at = IF(created_at < 0, VALUES(created_at), created_at)"
            connection.exec_driver_sql(f"{insert} {values} ON DUPLICATE KEY UPDATE {kept}", given)


def _literal(states: bytes | None) -> str:
    return "NULL" if states is None else f"X'{states.hex()}'"


def put_passages(connection: Connection, current: Sequence[Embedded], high: Mapping[str, int], model: str) -> None:
    """Replace the passages of each memory; `high` is the most it ever had. Inputs that are no longer used are
    recorded."""
    _note_former(connection, [item for item in current if high[item.memory_id]], model)
    shrunk: defaultdict[int, list[str]] = defaultdict(list)
    for item in current:
        if len(item.input_hashes) < high[item.memory_id]:
            shrunk[len(item.input_hashes)].append(item.memory_id)
    for count, ids in shrunk.items():
        one, these = slot(connection), slots(connection, len(ids))
        connection.exec_driver_sql(
            f"DELETE FROM memory_passages WHERE model = {one} AND passage >= {one} AND memory_id IN ({these})",  # noqa: S608 - values are bound
            (model, count, *ids),
        )
    rows = [
        (item.memory_id, model, number, item.revision, input_hash)
        for item in current
        for number, input_hash in enumerate(item.input_hashes)
    ]
    if rows:
        put = upsert(connection, "memory_passages", ("memory_id", "model", "passage"), ("revision", "input_hash"))
        connection.exec_driver_sql(put, rows)


def _note_former(connection: Connection, again: Sequence[Embedded], model: str) -> None:
    """Record, for memories that had passages, the inputs that their passages no longer use."""
    kept = {item.memory_id: item.input_hashes for item in again}
    former: list[tuple[str, str]] = []
    for some in chunks(sorted(kept)):
        one, these = slot(connection), slots(connection, len(some))
        query = f"SELECT memory_id, input_hash FROM memory_passages WHERE model = {one} AND memory_id IN ({these})"  # noqa: S608 - values are bound
        rows = connection.exec_driver_sql(query, (model, *some))
        former += [(memory_id, input_hash) for memory_id, input_hash in rows if input_hash not in kept[memory_id]]
    insert_rows(connection, former_inputs, sorted(set(former)), missing=True)
