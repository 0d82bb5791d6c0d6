"""The bare side of the benchmark `signals`: an asyncio server that keeps streams of server-sent events open and writes
each event to all of them, with one call per stream.

Reads its task from the command line (socket and stream of Redis, the answers for subscribers) and prints its port.
Writes the field `frame` of each stream entry to all subscribers. Ends when its input is closed.
"""

import asyncio
import json
import sys
from typing import Any

import uvloop
from redis.asyncio import Redis

from benchmarks.workers.signals import say

_STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"


class Connection(asyncio.Protocol):
    """Implements the part of HTTP that the subscribers use."""

    def __init__(self, task: dict[str, Any], listening: set[asyncio.Transport]) -> None:
        self._task, self._listening = task, listening
        self._given = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the base class's name
        """Remove the subscriber."""
        self._listening.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """Answer requests in order; a body is always an empty object."""
        self._given += data
        while (end := self._given.find(b"\r\n\r\n")) >= 0:
            head = self._given[:end].lower()
            end += 4 + (2 if head.startswith(b"post") else 0)
            if len(self._given) < end:
                return
            self._given = self._given[end:]
            self._transport.write(self._answer(head.split(b" ", 2)[1].decode()))

    def _answer(self, path: str) -> bytes:
        state = self._task["state"]
        if path.startswith("/v1/amygdala/stream"):
            self._listening.add(self._transport)
            return _STREAM + chunk(b"event: state\ndata: %s\n\n" % state.encode())
        if path.startswith("/v1/amygdala/state"):
            return _packed(state)
        return _packed(self._task["halts"][path.split("/")[4]])


def chunk(body: bytes) -> bytes:
    """The body as one chunk of a chunked answer."""
    return b"%x\r\n%s\r\n" % (len(body), body)


def _packed(body: str) -> bytes:
    encoded = body.encode()
    return _JSON % (len(encoded), encoded)


async def main(task: dict[str, Any]) -> None:
    """Run until the input is closed."""
    listening: set[asyncio.Transport] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(task, listening), "127.0.0.1", 0, backlog=2048)
    say(str(server.sockets[0].getsockname()[1]))
    fanning = asyncio.create_task(_fan_out(task, listening))
    await asyncio.to_thread(sys.stdin.read)
    fanning.cancel()


async def _fan_out(task: dict[str, Any], listening: set[asyncio.Transport]) -> None:
    client: Any = Redis(unix_socket_path=task["socket"])
    last: bytes | str = "0"
    while True:
        for _, entries in await client.xread({task["stream"]: last}, block=1000):
            for entry, fields in entries:
                last, written = entry, chunk(fields[b"frame"])
                for transport in listening:
                    transport.write(written)


if __name__ == "__main__":
    uvloop.run(main(json.loads(sys.argv[1])))
