"""Import: read the file as it arrives, check it line by line, and store it one transaction's worth at a time."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

from openbrain.domain import limits
from openbrain.domain.errors import Invalid, OpenBrainError
from openbrain.usecases.transfer import lines as transfer_lines
from openbrain.usecases.transfer.lines import (
    AnyLine,
    BesideLine,
    Footer,
    Header,
    HistoryEntryLine,
    LineageLine,
    MemoryLine,
    parse_line,
)
from openbrain_api.http.response import problem_fields
from openbrain_api.memories.committing import BULK_ROWS
from openbrain_api.memories.transfer.landing import Importer, Numbered

REFUSALS = 1000
CHUNK_BYTES = 2 * limits.LINE_BYTES
_COUNTED: Mapping[type[AnyLine], str] = {
    MemoryLine: "memories",
    HistoryEntryLine: "history",
    LineageLine: "lineage",
    BesideLine: "beside",
}
"""Names of the footer's counters, by kind of line."""


class Import:
    """The import of one file. If the file is sent again, the rest is imported."""

    def __init__(self, header: Header, lander: Importer) -> None:
        self._header = header
        self._lander = lander
        self._counts = dict.fromkeys(_COUNTED.values(), 0)
        self._refusals: list[dict[str, object]] = []
        self._refused = 0
        self._lines = 1
        self._incomplete: str | None = "the file has no footer: it was cut off, send the whole file again"

    async def read(self, following: AsyncIterator[bytes | None], digest: "hashlib._Hash") -> None:
        """Read and store every line after the header."""
        landing: asyncio.Task[None] | None = None
        try:
            async for chunk in self._chunks(following, digest):
                # Read and check the next chunk while one is stored.
                if landing is not None:
                    await landing
                landing = asyncio.create_task(self._land(chunk))
        finally:
            if landing is not None:
                await landing
        if self._incomplete is None:
            await self._lander.done()

    async def _chunks(
        self, following: AsyncIterator[bytes | None], digest: "hashlib._Hash"
    ) -> AsyncGenerator[list[Numbered], None]:
        chunk: list[Numbered] = []
        size = 0
        async for raw in following:
            self._lines += 1
            line = self._checked(raw)
            if isinstance(line, Footer):
                self._end(line, digest.hexdigest())
            digest.update((raw or b"") + b"\n")
            if isinstance(line, MemoryLine | HistoryEntryLine | LineageLine):
                chunk.append((self._lines, line))
                size += len(raw or b"")
            if len(chunk) >= BULK_ROWS or size >= CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
            elif self._lines % BULK_ROWS == 0:
                await asyncio.sleep(0)  # lines that store nothing cause no wait: let other requests run
        if chunk:
            yield chunk

    def report(self) -> Mapping[str, object]:
        """The members of `Imported`."""
        return {
            "export_id": self._header.export_id,
            **self._lander.counts(),
            "lines": self._lines,
            "refused": self._refused,
            "refusals": sorted(self._refusals, key=lambda refusal: int(str(refusal["line"]))),
            "complete": self._incomplete is None,
            "incomplete": self._incomplete,
        }

    def _checked(self, raw: bytes | None) -> AnyLine | None:
        try:
            if raw is None:
                raise Invalid("line", f"must be at most {limits.LINE_BYTES} bytes")  # noqa: TRY301 - reported like the others
            if not raw.strip():
                return None
            line = parse_line(raw)
        except Invalid as error:
            self._refuse(self._lines, error)
            return None
        if (counted := _COUNTED.get(type(line))) is not None:
            self._counts[counted] += 1
        return line

    async def _land(self, chunk: list[Numbered]) -> None:
        for number, error in await self._lander.land(chunk):
            self._refuse(number, error)

    def _refuse(self, number: int, error: OpenBrainError) -> None:
        self._refused += 1
        if len(self._refusals) < REFUSALS:
            self._refusals.append({"line": number, **problem_fields(error)})

    def _end(self, footer: Footer, digest: str) -> None:
        counts = footer.model_dump(include=set(self._counts))
        self._incomplete = None
        if self._header.part:
            return
        if counts != self._counts:
            self._incomplete = "the footer's counts don't match the file: lines are missing, send the whole file again"
        elif footer.digest != f"sha256:{digest}":
            self._incomplete = "the footer's digest does not match the file: it was changed on its way"


async def opened(parts: AsyncIterator[bytes]) -> tuple[Header, AsyncIterator[bytes | None], "hashlib._Hash"]:
    """Return the header, the lines after it, and the digest so far. Raise `Invalid` for another kind of file."""
    following = lines(parts, limits.LINE_BYTES)
    raw = await anext(following, b"")
    if not raw:
        raise Invalid("line 1", "must be the header of an export")
    try:
        header = transfer_lines.parse_header(raw)
    except Invalid as error:
        raise Invalid("line 1", str(error)) from None
    return header, following, hashlib.sha256(raw + b"\n")


async def lines(parts: AsyncIterator[bytes], limit: int) -> AsyncGenerator[bytes | None, None]:
    """Yield each line without its line break; None for one of more than `limit` bytes, which is not buffered. The last
    line needs no line break."""
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
