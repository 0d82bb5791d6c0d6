"""Client methods to export and import workspaces."""

from collections.abc import AsyncGenerator
from typing import Unpack

from openbrain.client.arguments import SubjectFilters
from openbrain.client.wire import Wire, refuse_empty
from openbrain.contract.brain.transfer import Imported

NDJSON = "application/x-ndjson"


class Transfers:
    """Client methods for export and import."""

    _wire: Wire

    async def export(
        self, *, cursor: str | None = None, **filters: Unpack[SubjectFilters]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the export file in chunks of any size, never all of it in memory (`openbrain.usecases.transfer.lines`
        describes its lines).

        With an admin key the complete workspace, else what the key may see. `cursor`: continue after the last mark that
        was read. `TryLater` if the connection breaks off.
        """
        refuse_empty(filters)
        author = filters.pop("author", None)
        query = {"cursor": cursor, "agent_id": author, **filters}
        async for part in self._wire.stream("/v1/brain/export", query=query, accept=NDJSON):
            yield part

    async def import_lines(self, file: bytes, *, dry_run: bool = False) -> Imported:
        """Import a file of an export, or its header with some of its lines (`Header.part`). Repeat an interrupted
        import to complete it."""
        return await self._wire.ask(
            Imported,
            "POST",
            "/v1/brain/import",
            content=file,
            query={"dry_run": "1" if dry_run else None},
            headers={"content-type": NDJSON},
        )
