"""A stream server without entries; `tests/flow` and `tests/contracts/streams` test what happens to entries."""

from openbrain.ports.streams import Doomed, Swept


class NoStreams:
    """Stands in for the streams where operations run in a process without a stream server."""

    async def sweep(self, _doomed: Doomed) -> Swept:
        return Swept(0)

    async def sweep_taken(self, _doomed: Doomed) -> Swept:
        return Swept(0)

    async def drop(self, _workspace_id: str) -> int:
        return 0

    async def settle_files(self) -> str:
        return "the server keeps no files"
