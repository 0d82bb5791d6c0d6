"""gzip, both ways: bodies come packed, answers go packed where the client says that it can take them."""

import asyncio
import hashlib
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass

from openbrain_api.http.response import Refused

PART_BYTES = 256 * 1024
"""Most bytes of one step of unpacking: a small body may hold a very large one."""
_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 5
_LONG = 128 * 1024
"""From here on packing takes long enough to be another thread's work."""


def is_compressed(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the body is gzip; `Refused` for any other packing."""
    packing = headers.get(b"content-encoding", b"identity").decode("latin-1").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", ""):
        raise Refused(
            415,
            "unsupported_media_type",
            "send the body as it is, or packed with `Content-Encoding: gzip`",
            headers={"accept-encoding": "gzip"},
        )
    return packing.endswith("gzip")


async def decompressed(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The body in parts of at most `PART_BYTES`. `Refused` for what is no gzip, or not all of it."""
    packed = zlib.decompressobj(_GZIP)
    fed = False
    async for part in parts:
        rest = part
        while rest:
            if packed.eof:  # files of several members are one file
                packed = zlib.decompressobj(_GZIP)
            try:
                plain = packed.decompress(rest, PART_BYTES)
            except zlib.error:
                raise _no_gzip() from None
            fed = True
            rest = packed.unconsumed_tail or packed.unused_data
            yield plain
            if len(plain) == PART_BYTES:
                await asyncio.sleep(0)  # others have requests too
    if fed and not packed.eof:
        raise _no_gzip()


def _no_gzip() -> Refused:
    return Refused(400, "invalid_gzip", "the body is not valid gzip: send it again whole")


async def gzipped(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """A compressed body, made in another thread."""
    packer = zlib.compressobj(6, wbits=_GZIP)
    async for part in parts:
        if packed := await asyncio.to_thread(packer.compress, part):
            yield packed
    yield packer.flush()


async def gzip_whole(body: bytes) -> bytes:
    """One body, packed."""
    if len(body) < _LONG:
        return zlib.compress(body, _LEVEL, _GZIP)
    return await asyncio.to_thread(zlib.compress, body, _LEVEL, _GZIP)


@dataclass(frozen=True, slots=True)
class CachedBody:
    """A body that is the same for everybody: plain, packed, and the entity tag of the plain one."""

    plain: bytes
    packed: bytes
    entity_tag: str

    @classmethod
    def of(cls, plain: bytes) -> "CachedBody":
        """Packed once."""
        tag = hashlib.sha256(plain).hexdigest()[:32]
        return cls(plain, zlib.compress(plain, zlib.Z_BEST_COMPRESSION, _GZIP), f'"{tag}"')


def compressed_tag(entity_tag: str) -> str:
    """Of the same body, packed: other bytes have another strong tag (RFC 9110, 8.8.3.3)."""
    return f'{entity_tag[:-1]}-gzip"'


def accepts_gzip(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the client says that it unpacks gzip."""
    for coding in headers.get(b"accept-encoding", b"").decode("latin-1").lower().split(","):
        name, _, quality = coding.replace(" ", "").partition(";q=")
        if name in ("gzip", "x-gzip"):
            return quality.strip("0.") != "" if quality else True
    return False
