"""EntryMarks of entries, of an engine that gives them one by one."""

from collections.abc import AsyncIterator, Sequence

from openbrain.domain.ids import mark
from openbrain.ports.index import EntryMarks, Standing


async def marks_of(pages: AsyncIterator[Sequence[Standing]]) -> AsyncIterator[EntryMarks]:
    """The entries of each page."""
    async for page in pages:
        yield EntryMarks(
            [mark(item.bucket, item.digest) for item in page if not item.tombstone],
            [item for item in page if item.tombstone],
        )
