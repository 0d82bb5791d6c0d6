"""A parser of server-sent events."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from openbrain.domain.errors import SetupError

MEDIA = "text/event-stream"
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sent:
    """One event. Without a name it is a comment: the server's heartbeat."""

    name: str = ""
    data: bytes = b""


async def events(parts: AsyncIterator[bytes]) -> AsyncGenerator[Sent, None]:
    """Yield each event when it is complete. An incomplete event at the end of the stream is dropped."""
    rest, name, data = b"", b"", b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) + len(data) > MOST_BYTES:
            raise SetupError(f"an event of the stream is above {MOST_BYTES} bytes: this is no OpenBrain")
        for line in (item.removesuffix(b"\r") for item in lines):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if not line:
                if data:
                    yield Sent(name.decode("latin-1") or "message", data)
                name = data = b""
            elif not field:
                yield Sent()
            elif field == b"event":
                name = value
            elif field == b"data":
                data = data + b"\n" + value if data else value
