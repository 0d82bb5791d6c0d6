"""Streams that hold nothing: what becomes of what they hold is in tests/flow/test_cleaning."""

from openbrain.ports.streams import Doomed, Swept


class NoSubmissions:
    """For cleaning in a process without a stream server."""

    async def sweep_taken(self, doomed: Doomed) -> Swept:
        return Swept(0)
