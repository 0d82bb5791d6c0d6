"""Write an export page by page. A mark line follows each complete page."""

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from openbrain.domain.access.visibility import Condition
from openbrain.domain.memory import Memory
from openbrain.ports.cleaning import OtherText, OtherTextsCursor
from openbrain.ports.store.transfer import Position, StoredMemory, Transfer
from openbrain.usecases.transfer import writing as transfer_writing
from openbrain_api.memories.chains import Behind

FIRST_PAGE = 50
PAGE = 250
PAGE_BYTES = 1024 * 1024
"""Target size of a page, as memories may be long."""
HISTORY_ROWS = 250


Names = Callable[[Sequence[Memory]], Awaitable[Mapping[str, Behind]]]
Beside = Callable[[OtherTextsCursor | None], Awaitable[tuple[Sequence[OtherText], OtherTextsCursor | None]]]


class Export:
    """One file. `whole`: with ended memories, chains and history. Otherwise `names` returns which predecessor a memory
    may name. `beside` returns pages of texts other than memories (messages, questions, signals)."""

    def __init__(
        self, transfer: Transfer, condition: Condition, names: Names, *, whole: bool, beside: Beside | None
    ) -> None:
        self._transfer, self._names, self._beside = transfer, names, beside
        self._condition = condition
        self._whole = whole
        self._digest = hashlib.sha256()
        self._counts = {"memories": 0, "history": 0, "lineage": 0, "beside": 0}

    async def page(self, limit: int, after: Position | None) -> Sequence[StoredMemory]:
        """The next rows after a position."""
        return await self._transfer.kept(self._condition, limit, after, dead=self._whole)

    async def parts(self, header: bytes, page: Sequence[StoredMemory]) -> AsyncGenerator[bytes, None]:
        """Yield the file from header to footer, beginning with this page."""
        yield self._written(header)
        limit = FIRST_PAGE
        while page:
            shown = page if self._whole else await self._named(page)
            block = b"".join(map(transfer_writing.memory_line, shown))
            self._counts["memories"] += len(page)
            yield self._written(block)
            if self._whole:
                async for part in self._about({kept.memory.id: kept.memory.revision for kept in page}):
                    yield self._written(part)
            last = page[-1].memory
            yield self._written(transfer_writing.mark_line(f"{last.created_at}.{last.id}"))
            if len(page) < limit:
                break
            limit = max(1, min(PAGE, PAGE_BYTES * len(page) // len(block)))
            page = await self.page(limit, (last.created_at, last.id))
        if self._beside is not None:
            async for lines in _pages(self._beside):
                self._counts["beside"] += len(lines)
                yield self._written(b"".join(lines))
        yield transfer_writing.footer_line(**self._counts, digest=self._digest.hexdigest())

    async def _named(self, page: Sequence[StoredMemory]) -> Sequence[StoredMemory]:
        """The rows; each names its predecessor only if the caller may see that."""
        behind = await self._names([kept.memory for kept in page])
        return [
            kept
            if kept.memory.supersedes_id is None
            else replace(kept, memory=kept.memory._replace(supersedes_id=behind[kept.memory.id].parent))
            for kept in page
        ]

    async def _about(self, revisions: Mapping[str, int]) -> AsyncGenerator[bytes, None]:
        """Yield lineage and history. `revisions`: those of the written rows, by id. Changes since then are left out:
        the rows don't have them."""
        ids = list(revisions)
        links = await self._transfer.links(ids)
        self._counts["lineage"] += len(links)
        yield b"".join(map(transfer_writing.lineage_line, links))
        entries, after = await self._transfer.history(ids, HISTORY_ROWS)
        while entries:
            known = [entry for entry in entries if entry.revision <= revisions[entry.memory_id]]
            self._counts["history"] += len(known)
            yield b"".join(map(transfer_writing.history_line, known))
            entries, after = await self._transfer.history(ids, HISTORY_ROWS, after) if after else ((), None)

    def _written(self, part: bytes) -> bytes:
        self._digest.update(part)
        return part


async def _pages(beside: Beside) -> AsyncGenerator[Sequence[bytes], None]:
    rows, after = await beside(None)
    yield [*map(transfer_writing.other_text_line, rows)]
    while after is not None:
        rows, after = await beside(after)
        yield [*map(transfer_writing.other_text_line, rows)]
