"""Removes vectors that no passage uses any more.

There is no index from a model input to its passages: it would make storing every memory slower. So all passages are
scanned, some rows per statement and without locks. To notice concurrent use, the vectors are marked first, and whoever
writes a passage removes its marks in the same transaction. Vectors that are still marked after the scan, and were not
found by it, are deleted. Each scan has its own mark, so that scans are not confused. A mark that a killed process left
has no effect.
"""

import random
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, Delete, Update, and_, delete, func, or_, select, update

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.statements import chunks
from openbrain.adapters.sql.schema.tables import embeddings, memory_passages, operations
from openbrain.adapters.sql.work.operations import OPEN
from openbrain.domain.errors import TryLater
from openbrain.ports.store.operations import TRACES
from openbrain.ports.store.writes import PURGE

AT_ONCE = 5000
"""Inputs per scan: each scan reads all passages."""
LOOKED = 20_000
"""Passages per statement."""
_MARKS = 2**62
PURGES = 20
"""Waiting purges whose vectors are included in the scan for another one."""


class Used(NamedTuple):
    """The inputs that are used, and the last memory scanned."""

    inputs: frozenset[str]
    looked: str


async def drop(database: Database, inputs: Collection[str], of: Collection[str] = ()) -> int:
    """Remove the vectors of these model inputs unless a memory other than `of` uses them; return how many. `TryLater`
    if another scan has marked some of them."""
    return sum([await _drop(database, some, frozenset(of)) for some in chunks(sorted(set(inputs)), AT_ONCE)])


async def existing_inputs(database: Database, inputs: Collection[str]) -> frozenset[str]:
    """Return the inputs that have a vector."""
    parts = [await database.read(partial(_existing, inputs=some)) for some in chunks(sorted(inputs))]
    return frozenset(item for some in parts for item in some)


async def _drop(database: Database, inputs: Sequence[str], of: frozenset[str]) -> int:
    some = await existing_inputs(database, inputs)
    mark = -random.randrange(1, _MARKS)  # noqa: S311 - no secret, a name
    free = set(some)
    await _in_chunks(database, sorted(free), partial(_run, update(embeddings).values(created_at=mark)))
    looked = ""
    while free and (in_use := await database.read(partial(used, inputs=sorted(free), after=looked, of=of))):
        free -= in_use.inputs
        looked = in_use.looked
    mine = embeddings.c.created_at == mark
    await _in_chunks(database, sorted(some - free), partial(_run, update(embeddings).where(mine).values(created_at=0)))
    removed = await _in_chunks(database, sorted(free), partial(_run, delete(embeddings).where(mine)))
    if await _in_chunks(database, sorted(free), _marked):
        raise TryLater(
            "another purge is removing some of the same vectors: it may have been killed, so this one tries again"
        )
    return removed


def used(connection: Connection, inputs: Sequence[str], after: str, of: Collection[str] = ()) -> Used | None:
    """Return which of these inputs the next passages use; None after the last passage."""
    passages = memory_passages.c
    behind = select(passages.memory_id).where(passages.memory_id > after)
    end = connection.scalar(behind.order_by(passages.memory_id).limit(1).offset(LOOKED - 1))
    if end is None:
        end = connection.scalar(select(func.max(passages.memory_id)).where(passages.memory_id > after))
    if end is None:
        return None
    span = and_(passages.memory_id > after, passages.memory_id <= end)
    query = select(passages.memory_id, passages.input_hash).where(span, passages.input_hash.in_(inputs))
    return Used(frozenset(row.input_hash for row in connection.execute(query) if row.memory_id not in of), end)


async def _in_chunks(
    database: Database, inputs: Sequence[str], work: Callable[[Sequence[str], Connection], int]
) -> int:
    """Run small transactions that all lock their rows in the same order."""
    return sum([await database.write(partial(work, some)) for some in chunks(inputs)])


def _existing(connection: Connection, inputs: Sequence[str]) -> Sequence[str]:
    return connection.scalars(select(embeddings.c.input_hash).where(embeddings.c.input_hash.in_(inputs))).all()


def _marked(inputs: Sequence[str], connection: Connection) -> int:
    these = and_(embeddings.c.input_hash.in_(inputs), embeddings.c.created_at < 0)
    return connection.scalar(select(func.count()).select_from(embeddings).where(these)) or 0


def _run(statement: Update | Delete, inputs: Sequence[str], connection: Connection) -> int:
    return connection.execute(statement.where(embeddings.c.input_hash.in_(inputs))).rowcount


def awaited_inputs(connection: Connection) -> frozenset[str]:
    """Return the inputs of waiting purges that have not removed vectors yet."""
    result = operations.c.result
    waiting = or_(result.is_(None), ~result.contains('"embeddings"', autoescape=True))
    some = select(operations.c.request).where(OPEN, operations.c.kind == PURGE, waiting).limit(PURGES)
    requests = [orjson.loads(request) for request in connection.scalars(some)]
    return frozenset(item for request in requests for item in request.get(TRACES, {}).get("inputs", ()))
