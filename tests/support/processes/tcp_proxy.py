"""A network that can fail: a TCP proxy that forwards data, delays or drops answers, or cuts connections."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class TcpProxy:
    """Forwards to a server on this machine. `silent`: requests arrive, answers do not. `late_s`: delay of each answer,
    in seconds."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.port = 0
        self.silent = False
        self.late_s = 0.0
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["TcpProxy"]:
        """Listen while the block runs: on a free port, and on the same one when opened again."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await asyncio.gather(*self._pumps, return_exceptions=True)

    def reset(self) -> None:
        """Reset every connection: unlike after `cut`, the other side can't write any more."""
        for writer in self._writers:
            at_once = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        self.cut()

    def cut(self) -> None:
        """Close every connection at once."""
        for writer in self._writers:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers |= {writer, to_server}
        for source, sink, back in ((reader, to_server, False), (behind, writer, True)):
            task = asyncio.create_task(self._pump(source, sink, back=back))
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, back: bool) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                if back and self.late_s:
                    await asyncio.sleep(self.late_s)
                if not (back and self.silent):
                    sink.write(data)
                    await sink.drain()
        sink.close()
        self._writers.discard(sink)
