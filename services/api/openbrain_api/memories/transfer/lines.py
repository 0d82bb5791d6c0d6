"""A stream of bytes, line by line; what is longer than a line may be is not kept."""

from collections.abc import AsyncGenerator, AsyncIterator


async def lines(parts: AsyncIterator[bytes], limit: int) -> AsyncGenerator[bytes | None, None]:
    """Each line without its end; None for one of more than `limit` bytes. The last needs no end."""
    pending: list[bytes] = []
    size = 0
    async for part in parts:
        first, *others = part.split(b"\n")
        for piece in others:
            yield _line(pending, first, size + len(first), limit)
            pending, size, first = [], 0, piece
        size += len(first)
        if size <= limit:
            pending.append(first)
        else:
            pending = []
    if size:
        yield _line(pending, b"", size, limit)


def _line(pending: list[bytes], last: bytes, size: int, limit: int) -> bytes | None:
    return None if size > limit else b"".join([*pending, last])
