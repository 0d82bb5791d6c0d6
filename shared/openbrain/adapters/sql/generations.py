"""Which index generation serves. A unique key, not a reader, decides between two that are made at once."""

from sqlalchemy import Connection, RowMapping, exists, select, update

from openbrain.adapters.sql.database import Database
from openbrain.adapters.sql.statements import insert_missing
from openbrain.adapters.sql.tables import index_generations, memories
from openbrain.ports.clock import Clock
from openbrain.ports.truth import Generation, IndexKind

SERVING = "serving"
RETIRED = "retired"

_COLUMNS = [index_generations.c[name] for name in ("kind", "name", "model", "dimensions", "builder", "status")]


class SqlGenerations:
    """`ports.truth.Generations`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def serving(self, kind: IndexKind) -> Generation | None:
        """The one that answers."""
        return await self._database.read(lambda connection: _serving(connection, kind))

    async def ensure(self, generation: Generation, *, replace_unused: bool = False) -> Generation:
        """The serving one; this one where there was none, or where the one of another model was of no use yet."""
        found = await self.serving(generation.kind)
        if found is not None and (found.model == generation.model or not replace_unused):
            return found
        now = self._clock.now()

        def made(connection: Connection) -> Generation:
            if replace_unused:
                _retire_unused(connection, generation)
            return _ensure(connection, generation, now)

        return await self._database.write(made)


def _serving(connection: Connection, kind: IndexKind) -> Generation | None:
    row = (
        connection.execute(select(*_COLUMNS).where(index_generations.c.serving == kind.value)).mappings().one_or_none()
    )
    return None if row is None else _from_row(row)


def _from_row(row: RowMapping) -> Generation:
    return Generation(**{**row, "kind": IndexKind(row["kind"])})


def _retire_unused(connection: Connection, generation: Generation) -> None:
    """One statement: what it finds is what stands, not what a snapshot held."""
    table = index_generations
    other = table.c.serving == generation.kind.value, table.c.model != generation.model
    retired = update(table).where(*other, ~exists(select(memories.c.id))).values(status=RETIRED, serving=None)
    connection.execute(retired)


def _ensure(connection: Connection, generation: Generation, now: int) -> Generation:
    table = index_generations
    row = {
        "kind": generation.kind.value,
        "name": generation.name,
        "model": generation.model,
        "dimensions": generation.dimensions,
        "builder": generation.builder,
        "status": SERVING,
        "serving": generation.kind.value,
        "created_at": now,
    }
    # Waits for another's uncommitted row of this kind, so what is read next is decided.
    connection.execute(insert_missing(connection.dialect, table), row)
    found = _serving(connection, generation.kind)
    if found is not None:
        return found
    # It stands under this name without serving, and nothing else serves: the lock on its row is ours.
    promoted = table.c.kind == row["kind"], table.c.name == row["name"]
    connection.execute(update(table).where(*promoted).values(status=SERVING, serving=row["serving"]))
    return _from_row(connection.execute(select(*_COLUMNS).where(*promoted)).mappings().one())
