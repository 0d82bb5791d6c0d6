"""A network between services and a server that can be slow, drop data, cut connections or be half open."""

import asyncio
from contextlib import suppress

from tests.support.processes.tcp_proxy import TcpProxy

MODES = ("latency", "blackhole", "reset", "half-open", "refused")


class Network(TcpProxy):
    """`mode`: '' passes; latency: delays each chunk by 0.25 s, both ways; blackhole: drops everything silently;
    half-open: requests arrive, answers do not; refused: cuts connections and refuses new ones."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.mode = ""

    def set(self, mode: str) -> None:
        """Switch to this mode from now on."""
        self.mode = mode
        self.silent = mode == "half-open"
        if mode in {"reset", "refused"} or not mode:
            # Connections that lost data in a blackhole are unusable: a kernel would time them out.
            self.cut()
            if mode == "reset":
                self.mode = ""

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "refused":
            writer.transport.abort()
            return
        try:
            await super()._connected(reader, writer)
        except OSError:
            writer.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, back: bool) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                if self.mode == "latency":
                    await asyncio.sleep(0.25)
                if self.mode == "blackhole" or (back and self.silent):
                    continue
                sink.write(data)
                await sink.drain()
        with suppress(OSError, RuntimeError):
            sink.close()
        self._writers.discard(sink)
