"""What is left of erased memories beside their rows."""

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy import Connection, and_, or_, select, update

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.statements import chunks
from openbrain.adapters.sql.indexes import unused_vectors
from openbrain.adapters.sql.schema.tables import idempotency_keys, memories, operations
from openbrain.adapters.sql.work.operations import OPEN
from openbrain.ports.erasing import PURGE
from openbrain.ports.operations import TRACES

_TOGETHER = 20
"""Purges whose vectors are looked for at once."""


class SqlPurging:
    """`ports.erasing.Purging`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def blank_keys(self, workspace_id: str, ids: Sequence[str]) -> Sequence[str]:
        """As in the port; the keys stay, so that the same submission again is still the same."""
        return await self._database.write(lambda connection: _blank_keys(connection, workspace_id, ids))

    async def drop_embeddings(self, inputs: Sequence[str]) -> int:
        """As in the port. One look through all passages serves the purges that wait too."""
        if not await unused_vectors.standing(self._database, inputs):
            return 0
        return await unused_vectors.drop(self._database, {*inputs, *await self._database.read(_awaited)})

    async def tombstoned(self, ids: Sequence[str]) -> bool:
        """As in the port."""
        behind = or_(memories.c.text_revision != memories.c.revision, memories.c.vector_revision != memories.c.revision)

        def none(connection: Connection) -> bool:
            return not any(
                connection.scalar(select(memories.c.id).where(memories.c.id.in_(some), behind).limit(1))
                for some in chunks(ids)
            )

        return await self._database.read(none)

    async def scrub(self) -> Mapping[str, object]:
        """As in the port."""
        return await self._database.scrub()


def _awaited(connection: Connection) -> frozenset[str]:
    """Inputs of purges that have not come to it yet."""
    told = operations.c.result
    waiting = or_(told.is_(None), ~told.contains('"embeddings"', autoescape=True))
    some = select(operations.c.request).where(OPEN, operations.c.kind == PURGE, waiting).limit(_TOGETHER)
    asked = [orjson.loads(request) for request in connection.scalars(some)]
    return frozenset(each for request in asked for each in request.get(TRACES, {}).get("inputs", ()))


def _blank_keys(connection: Connection, workspace_id: str, ids: Sequence[str]) -> list[str]:
    keys = idempotency_keys.c
    found: list[str] = []
    for some in chunks(ids):
        mine = and_(keys.workspace_id == workspace_id, keys.memory_id.in_(some))
        found += connection.scalars(select(keys.key_hash).where(mine))
    for some in chunks(sorted(found)):
        # By the primary key: a walk through the workspace's keys must lock nobody out.
        those = and_(keys.workspace_id == workspace_id, keys.key_hash.in_(some))
        connection.execute(update(idempotency_keys).where(those).values(content_hash=""))
    return found
