"""A small app on a real server, and raw connections to it that send what no regular client sends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from openbrain_cli.system.http.connections import Bounds
from tests.support.api.served import served
from tests.support.waiting import PATIENCE_S


class App:
    """Answers with the size of the body; /wait when the test says so, /flood endlessly, /unread without reading the
    body."""

    def __init__(self) -> None:
        self.ready, self.left = asyncio.Event(), asyncio.Event()
        self.headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        size, more = 0, scope["path"] != "/unread"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size, more = size + len(message["body"]), message["more_body"]
        if scope["path"] == "/wait":
            await self.ready.wait()
        self.headers = list(scope["headers"])
        body, flood = b"%d" % size, scope["path"] == "/flood"
        length = [] if flood else [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        gone = asyncio.ensure_future(_gone(receive)) if flood else None
        while gone is not None and not gone.done():
            await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})
        if gone is not None:
            self.left.set()
            return
        await send({"type": "http.response.body", "body": body})


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Peer:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def heard(self) -> bytes:
        """Return everything until the other side closes."""
        found = b""
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(ConnectionError):
                while part := await self._reader.read(65_536):
                    found += part
        return found

    async def status(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            return int((await self._reader.readuntil(b"\r\n"))[9:12])

    def hang(self) -> None:
        """Stop reading."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    def close(self) -> None:
        self._writer.transport.abort()


Connect = Callable[[], Awaitable[Peer]]


@asynccontextmanager
async def serving(app: App, bounds: Bounds) -> AsyncIterator[Connect]:
    peers: list[Peer] = []
    async with served(app, graceful_s=1, within=bounds) as url:
        port = int(url.rpartition(":")[2])

        async def connect() -> Peer:
            peers.append(Peer(*await asyncio.open_connection("127.0.0.1", port)))
            return peers[-1]

        try:
            yield connect
        finally:
            app.ready.set()
            for peer in peers:
                peer.close()
