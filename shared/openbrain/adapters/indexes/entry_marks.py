"""EntryMarks for engines that return whole entries."""

from collections.abc import AsyncIterator, Sequence

from openbrain.domain.ids import mark
from openbrain.ports.index import EntryMarks, Standing


async def marks_of(pages: AsyncIterator[Sequence[Standing]]) -> AsyncIterator[EntryMarks]:
    """Yield the marks of each page."""
    async for page in pages:
        yield EntryMarks(
            [mark(item.bucket, item.digest) for item in page if not item.tombstone],
            [item for item in page if item.tombstone],
        )
