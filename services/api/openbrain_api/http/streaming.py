"""Streamed request bodies and responses: read and written in parts, never whole in memory."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import structlog
from starlette.types import Receive, Send

from openbrain.domain.errors import Unauthorised, error_places
from openbrain_api.http.parsing import Headers, media_type, unpacked
from openbrain_api.http.response import Refused, Response, header_fields

KINDS = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
_log = structlog.get_logger(__name__)


def streamed_body(headers: Headers, receive: Receive) -> AsyncIterator[bytes]:
    """The body in parts, decompressed if it is gzip. Raise `Refused` at once for another media type or encoding."""
    if media_type(headers, KINDS[0]) not in KINDS:
        raise Refused(415, "unsupported_media_type", f"send NDJSON, with the header `Content-Type: {KINDS[0]}`")
    return unpacked(headers, receive)


async def write_stream(
    response: Response, receive: Receive, send: Send, *, head: bool, extra_headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Send a response part by part, until it ends or the client disconnects.

    A failure after the first byte can't change the status: the response then ends without its last chunk, which clients
    see as a broken connection. `extra_headers`: headers that every response has.
    """
    headers = [(b"content-type", response.media_type.encode()), *header_fields(response, extra_headers)]
    parts = response.stream
    disconnected = asyncio.ensure_future(_disconnected(receive))
    if (notify := response.on_disconnect) is not None:
        disconnected.add_done_callback(lambda _: notify())
    try:
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        if parts is not None and not head:
            async for part in parts:
                if disconnected.done():
                    return
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except Unauthorised:
        _log.info("api.key_ended")
    except Exception as error:  # noqa: BLE001 - logged without its text, which may hold content
        _log.error("api.answer_cut", error=type(error).__name__, where=error_places(error))
    finally:
        disconnected.cancel()
        if isinstance(parts, AsyncGenerator):
            await parts.aclose()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
