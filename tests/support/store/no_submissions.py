"""Streams without entries; tests/flow/test_cleaning tests what cleaning does to entries."""

from openbrain.ports.streams import Doomed, Swept


class NoSubmissions:
    """Stands in for the submissions when cleaning runs in a process without a stream server."""

    async def sweep_taken(self, doomed: Doomed) -> Swept:
        return Swept(0)
