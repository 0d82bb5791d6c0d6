"""What is left of erased memories beside their rows."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, and_, or_, select, update

from openbrain.adapters.sql import unused_vectors
from openbrain.adapters.sql.database import Database
from openbrain.adapters.sql.statements import chunks
from openbrain.adapters.sql.tables import idempotency_keys, memories


class SqlPurging:
    """`ports.erasing.Purging`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def blank_keys(self, workspace_id: str, ids: Sequence[str]) -> Sequence[str]:
        """As in the port; the keys stay, so that the same submission again is still the same."""
        return await self._database.write(lambda connection: _blank_keys(connection, workspace_id, ids))

    async def drop_embeddings(self, inputs: Sequence[str]) -> int:
        """As in the port."""
        return await unused_vectors.drop(self._database, inputs)

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
