"""EntryMarks of entries, of an engine that gives them one by one."""

from collections.abc import AsyncIterator, Sequence

from openbrain.domain.ids import mark
from openbrain.ports.index import EntryMarks, Standing


async def marks_of(pages: AsyncIterator[Sequence[Standing]]) -> AsyncIterator[EntryMarks]:
    """The entries of each page."""
    async for page in pages:
        yield EntryMarks(
            [mark(each.bucket, each.digest) for each in page if not each.tombstone],
            [each for each in page if each.tombstone],
        )
