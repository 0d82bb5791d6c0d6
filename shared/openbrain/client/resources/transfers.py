"""Export and import of whole workspaces."""

from collections.abc import AsyncGenerator
from typing import Unpack

from openbrain.client.arguments import SubjectFilters
from openbrain.client.wire import Wire
from openbrain.contract.brain.transfer import Imported

NDJSON = "application/x-ndjson"


class Transfers:
    """Methods of the client for export and import."""

    _wire: Wire

    async def export(
        self, *, cursor: str | None = None, **filters: Unpack[SubjectFilters]
    ) -> AsyncGenerator[bytes, None]:
        """The file in parts of any size, never whole in memory (see `openbrain.usecases.transfer.lines` for its lines).

        With an admin's key the whole workspace, else what may be seen. `cursor`, of the last mark that was read, goes
        on from there. `TryLater` where it broke off.
        """
        author = filters.pop("author", None)
        query = {"cursor": cursor, "agent_id": author, **filters}
        async for part in self._wire.stream("/v1/brain/export", query=query, accept=NDJSON):
            yield part

    async def import_lines(self, file: bytes, *, dry_run: bool = False) -> Imported:
        """Send a file of an export, or its header with some of its lines (`Header.part`). Again: does the rest."""
        return await self._wire.ask(
            Imported,
            "POST",
            "/v1/brain/import",
            content=file,
            query={"dry_run": "1" if dry_run else None},
            headers={"content-type": NDJSON},
        )
