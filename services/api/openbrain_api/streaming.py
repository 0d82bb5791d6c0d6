"""Bodies and answers that are never whole in memory: read and written in parts."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator

import structlog
from starlette.types import Receive, Send

from openbrain_api.reading import Gone, Headers
from openbrain_api.refused import Refused
from openbrain_api.reply import Reply, where

PART_BYTES = 256 * 1024
"""What one step of unpacking gives at most: a small body may hold a very large one."""
KINDS = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
_GZIP = 16 + zlib.MAX_WBITS
_log = structlog.get_logger(__name__)


def streamed_body(headers: Headers, receive: Receive) -> AsyncIterator[bytes]:
    """The body in parts, unpacked where it is packed. `Refused` at once for another type or packing."""
    kind = headers.get(b"content-type", KINDS[0].encode()).decode("latin-1").partition(";")[0].strip().lower()
    if kind not in KINDS:
        raise Refused(415, "unsupported_media_type", f"send NDJSON, with the header `Content-Type: {KINDS[0]}`")
    packed = headers.get(b"content-encoding", b"identity").decode("latin-1").strip().lower()
    if packed not in ("identity", "gzip"):
        raise Refused(415, "unsupported_media_type", "send the body as it is, or packed with `Content-Encoding: gzip`")
    return _received(receive) if packed == "identity" else _unpacked(_received(receive))


async def _received(receive: Receive) -> AsyncGenerator[bytes, None]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        more = message.get("more_body", False)
        if part := message.get("body", b""):
            yield part


async def _unpacked(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    packed = zlib.decompressobj(_GZIP)
    async for part in parts:
        rest = part
        while rest:
            if packed.eof:  # files of several members are one file
                packed = zlib.decompressobj(_GZIP)
            try:
                plain = packed.decompress(rest, PART_BYTES)
            except zlib.error:
                raise Refused(400, "invalid_gzip", "the body is not valid gzip: send it again whole") from None
            rest = packed.unconsumed_tail or packed.unused_data
            yield plain


async def gzipped(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The same, packed; another thread does the work."""
    packer = zlib.compressobj(6, wbits=_GZIP)
    async for part in parts:
        if packed := await asyncio.to_thread(packer.compress, part):
            yield packed
    yield packer.flush()


def takes_gzip(headers: Headers) -> bool:
    """Whether the client says that it unpacks gzip."""
    for each in headers.get(b"accept-encoding", b"").decode("latin-1").lower().split(","):
        name, _, quality = each.replace(" ", "").partition(";q=")
        if name in ("gzip", "x-gzip"):
            return quality.strip("0.") != "" if quality else True
    return False


async def write_stream(reply: Reply, receive: Receive, send: Send, *, head: bool) -> None:
    """An answer on the wire, part by part, until it ends or nobody listens.

    What fails after the first byte can't become another status: the answer then ends without its end, which every
    client sees as a broken connection.
    """
    headers = [(b"content-type", reply.media_type.encode())]
    headers += [(name.encode(), value.encode()) for name, value in reply.headers.items()]
    parts = reply.stream
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        if parts is not None and not head:
            async for part in parts:
                if gone.done():
                    return
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except Exception as error:  # noqa: BLE001 - told without its text, which may hold content
        _log.error("answer_cut", error=type(error).__name__, where=where(error))
    finally:
        gone.cancel()
        if isinstance(parts, AsyncGenerator):
            await parts.aclose()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
