"""An import of lines that store nothing gives other requests their turn while it is read."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence

from openbrain.domain.ids import uuid7
from openbrain.usecases.transfer.lines import parse_header
from openbrain.usecases.transfer.writing import header_line
from openbrain_api.memories.committing import BULK_ROWS
from openbrain_api.memories.transfer.importing import Import
from openbrain_api.memories.transfer.landing import Numbered, Refused

LINES = 50 * BULK_ROWS


class Nowhere:
    """A receiver of chunks that must never be called."""

    async def land(self, chunk: Sequence[Numbered]) -> Sequence[Refused]:
        raise AssertionError(chunk)

    async def done(self) -> None:
        raise AssertionError

    def counts(self) -> Mapping[str, object]:
        return {}


async def useless() -> AsyncIterator[bytes]:
    for number in range(LINES):
        yield b"" if number % 2 else b"{}"


async def test_others_get_their_turn_while_lines_are_passed_over() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    header = parse_header(header_line(export_id=uuid7(1), exported_at=1, workspace_id="w", whole=True, filters={}))
    coming = Import(header, Nowhere())
    task = asyncio.create_task(others())
    await coming.read(useless(), hashlib.sha256())
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert coming.report()["refused"] == LINES // 2
    assert turns >= LINES // BULK_ROWS - 1
