"""gzip, both ways: compressed request bodies, and compressed responses for clients that accept them."""

import asyncio
import hashlib
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass

from openbrain_api.http.response import Refused

PART_BYTES = 256 * 1024
"""Most bytes per decompression step: a small body may expand to a very large one."""
_FED = 16 * 1024
"""Most compressed bytes per step: a body of thousands of tiny gzip members copies the rest of its step for each."""
_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 5
_LONG = 128 * 1024
"""Bodies of this size or more are compressed in another thread."""


def is_compressed(headers: Mapping[bytes, bytes]) -> bool:
    """True if the body is gzip. Raise `Refused` for any other encoding."""
    packing = headers.get(b"content-encoding", b"identity").decode("latin-1").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", ""):
        raise Refused(
            415,
            "unsupported_media_type",
            "send the body uncompressed, or compressed with `Content-Encoding: gzip`",
            headers={"accept-encoding": "gzip"},
        )
    return packing.endswith("gzip")


async def decompressed(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the body in parts of at most `PART_BYTES`. Raise `Refused` if it is not gzip, or incomplete."""
    packed = zlib.decompressobj(_GZIP)
    fed = False
    async for part in parts:
        for start in range(0, len(part), _FED):
            rest = part[start : start + _FED]
            while rest:
                if packed.eof:  # a gzip file may have several members
                    packed = zlib.decompressobj(_GZIP)
                try:
                    plain = packed.decompress(rest, PART_BYTES)
                except zlib.error:
                    raise _no_gzip() from None
                fed = True
                rest = packed.unconsumed_tail or packed.unused_data
                if plain:
                    yield plain
                if len(plain) == PART_BYTES:
                    await asyncio.sleep(0)  # let other requests run
            await asyncio.sleep(0)
    if fed and not packed.eof:
        raise _no_gzip()


def _no_gzip() -> Refused:
    return Refused(400, "invalid_gzip", "the body is not valid or complete gzip: send it again")


async def gzipped(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the body compressed; the work runs in another thread."""
    packer = zlib.compressobj(6, wbits=_GZIP)
    async for part in parts:
        if packed := await asyncio.to_thread(packer.compress, part):
            yield packed
    yield packer.flush()


async def gzip_whole(body: bytes) -> bytes:
    """Compress one body, in another thread if it is long."""
    if len(body) < _LONG:
        return zlib.compress(body, _LEVEL, _GZIP)
    return await asyncio.to_thread(zlib.compress, body, _LEVEL, _GZIP)


@dataclass(frozen=True, slots=True)
class CachedBody:
    """A body that is the same for all clients: plain, compressed, and the entity tag of the plain one."""

    plain: bytes
    packed: bytes
    entity_tag: str

    @classmethod
    def of(cls, plain: bytes) -> "CachedBody":
        """Compress a body once and make its entity tag."""
        tag = hashlib.sha256(plain).hexdigest()[:32]
        return cls(plain, zlib.compress(plain, zlib.Z_BEST_COMPRESSION, _GZIP), f'"{tag}"')


def compressed_tag(entity_tag: str) -> str:
    """The entity tag of the compressed body: other bytes need another strong tag (RFC 9110, 8.8.3.3)."""
    return f'{entity_tag[:-1]}-gzip"'


def accepts_gzip(headers: Mapping[bytes, bytes]) -> bool:
    """True if the client accepts gzip."""
    for coding in headers.get(b"accept-encoding", b"").decode("latin-1").lower().split(","):
        name, _, quality = coding.replace(" ", "").partition(";q=")
        if name in ("gzip", "x-gzip"):
            return quality.strip("0.") != "" if quality else True
    return False
