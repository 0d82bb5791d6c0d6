"""Index generations. If two are created at once, a unique key decides, not an earlier read.

A change of the generations of a kind locks its rows; a writer that confirms that it knows them takes a shared lock. So
reading the writers after a change returns every writer that does not know of it.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, delete, exists, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import first_of, insert_missing
from openbrain.adapters.sql.schema.tables import index_generations as table
from openbrain.adapters.sql.schema.tables import memories
from openbrain.domain.errors import Conflict, NotFound
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind

BUILDING, SERVING, KEPT, RETIRED = (
    GenerationStatus.BUILDING.value,
    GenerationStatus.SERVING.value,
    GenerationStatus.KEPT.value,
    GenerationStatus.RETIRED.value,
)

_COLUMNS = [column for column in table.c if column.name != "serving"]
_ORDER = (table.c.kind, table.c.serving.is_(None), table.c.created_at.desc(), table.c.name)


class SqlGenerations(TimedPart):
    """`ports.generations.Generations`, without the writers."""

    async def serving(self, kind: IndexKind) -> Generation | None:
        return await self._read(_serving, kind)

    async def ensure(self, generation: Generation, *, replace_unused: bool = False) -> Generation:
        """Return the serving generation. If there is none, or if `replace_unused` and the one of another model is
        unused, make this one serve."""
        serving = await self.serving(generation.kind)
        if serving is not None and (serving.model == generation.model or not replace_unused):
            return serving
        return await self._write(_ensure, generation, self._clock.now(), replace_unused=replace_unused)

    async def generations(self, kind: IndexKind | None = None) -> Sequence[Generation]:
        query = select(*_COLUMNS).order_by(*_ORDER)
        return await self._read(read_all, query if kind is None else query.where(table.c.kind == kind.value))

    async def written(self, kind: IndexKind) -> Sequence[Generation]:
        return await self._read(read_all, written_of(kind))

    async def begin(self, generation: Generation) -> Generation:
        return await self._write(_begin, generation, self._clock.now())

    async def swap(self, kind: IndexKind, name: str, *, keep: bool = True) -> Generation:
        return await self._write(_swap, kind, name, KEPT if keep else RETIRED, self._clock.now())

    async def retire(self, kind: IndexKind, name: str) -> Generation:
        return await self._write(_retire, kind, name, self._clock.now())

    async def lost(self, generation: Generation) -> None:
        this = _this(generation.kind, generation.name), table.c.lost_at == 0
        await self._change(update(table).where(*this).values(lost_at=self._clock.now()))

    async def completed(self, generation: Generation, epoch: int) -> bool:
        this = _this(generation.kind, generation.name), table.c.lost_at == generation.lost_at
        return await self._change(update(table).where(*this).values(lost_at=0, epoch=epoch)) > 0

    async def drop(self, kind: IndexKind, name: str) -> None:
        await self._change(delete(table).where(_this(kind, name), table.c.status == RETIRED))


def written_of(kind: IndexKind) -> Select[tuple[object, ...]]:
    """Return the query for all generations that are written to, the serving one first."""
    return select(*_COLUMNS).where(table.c.kind == kind.value, table.c.status != RETIRED).order_by(*_ORDER)


def _from_row(row: RowMapping) -> Generation:
    return Generation(**{**row, "kind": IndexKind(row["kind"])})


def read_all(connection: Connection, query: Select[tuple[object, ...]]) -> list[Generation]:
    return [_from_row(row) for row in connection.execute(query).mappings()]


def _this(kind: IndexKind, name: str) -> ColumnElement[bool]:
    return (table.c.kind == kind.value) & (table.c.name == name)


def _one(connection: Connection, kind: IndexKind, name: str) -> Generation:
    return _from_row(connection.execute(select(*_COLUMNS).where(_this(kind, name))).mappings().one())


def _serving(connection: Connection, kind: IndexKind) -> Generation | None:
    return first_of(connection, select(*_COLUMNS).where(table.c.serving == kind.value), _from_row)


def _locked(connection: Connection, kind: IndexKind) -> dict[str, Generation]:
    """Lock all generations of a kind for a change, and return them by name."""
    query = select(*_COLUMNS).where(table.c.kind == kind.value).order_by(table.c.name).with_for_update()
    return {item.name: item for item in read_all(connection, query)}


def _known(connection: Connection, kind: IndexKind, name: str) -> tuple[Generation, dict[str, Generation]]:
    existing = _locked(connection, kind)
    if name not in existing:
        raise NotFound(f"there is no {kind} generation of this name: `openbrain index list` shows those there are")
    return existing[name], existing


def _set(connection: Connection, kind: IndexKind, name: str, status: str, now: int) -> Generation:
    values = {"status": status, "serving": kind.value if status == SERVING else None, "updated_at": now}
    connection.execute(update(table).where(_this(kind, name)).values(values))
    return _one(connection, kind, name)


def _begin(connection: Connection, generation: Generation, now: int) -> Generation:
    existing = _locked(connection, generation.kind)
    known = existing.get(generation.name)
    if known is not None and known.status == BUILDING:
        return known
    if known is not None:
        raise Conflict(f"the {generation.kind} generation {generation.name} is there already, {known.status}")
    building = next((item.name for item in existing.values() if item.status == BUILDING), None)
    if building is not None:
        raise Conflict(
            f"the {generation.kind} generation {building} is being built: let its operation end, "
            f"or cancel it, or drop it with `openbrain index drop {building}`"
        )
    # The newest decides who writes, also after the clock was set back.
    newest = max((item.created_at for item in existing.values()), default=0)
    connection.execute(table.insert(), _row(generation, BUILDING, max(now, newest + 1)))
    return _one(connection, generation.kind, generation.name)


def _swap(connection: Connection, kind: IndexKind, name: str, before: str, now: int) -> Generation:
    next_one, existing = _known(connection, kind, name)
    if next_one.status == SERVING:
        return next_one
    if next_one.status == RETIRED:
        raise Conflict(
            f"the {kind} generation {name} is retired and lacks what was written since: run `openbrain reindex` instead"
        )
    for item in existing.values():
        if item.status == SERVING:
            _set(connection, kind, item.name, before, now)
    return _set(connection, kind, name, SERVING, now)


def _retire(connection: Connection, kind: IndexKind, name: str, now: int) -> Generation:
    generation, _ = _known(connection, kind, name)
    if generation.status == SERVING:
        raise Conflict(f"the {kind} generation {name} serves: let another serve first (`openbrain index switch`)")
    return generation if generation.status == RETIRED else _set(connection, kind, name, RETIRED, now)


def _retire_unused(connection: Connection, generation: Generation, now: int) -> None:
    """Retire another model's serving generation if there are no memories. A single statement, so that it sees the
    current rows instead of a snapshot."""
    other = table.c.serving == generation.kind.value, table.c.model != generation.model
    values = {"status": RETIRED, "serving": None, "updated_at": now}
    connection.execute(update(table).where(*other, ~exists(select(memories.c.id))).values(values))


def _ensure(connection: Connection, generation: Generation, now: int, *, replace_unused: bool) -> Generation:
    if replace_unused:
        _retire_unused(connection, generation, now)
    # Waits for an uncommitted row of this kind, so that the next read is final.
    connection.execute(insert_missing(connection, table), _row(generation, SERVING, now))
    serving = _serving(connection, generation.kind)
    if serving is not None:
        return serving
    # A row of this name exists but does not serve, and no other serves: we hold the lock on it.
    return _set(connection, generation.kind, generation.name, SERVING, now)


def _row(generation: Generation, status: str, now: int) -> dict[str, object]:
    return {
        "kind": generation.kind.value,
        "name": generation.name,
        "model": generation.model,
        "model_name": generation.model_name,
        "dimensions": generation.dimensions,
        "builder": generation.builder,
        "status": status,
        "serving": generation.kind.value if status == SERVING else None,
        "created_at": now,
        "updated_at": now,
    }
