"""Splitting chunks into lines gives the same lines wherever the chunks are cut."""

from collections.abc import AsyncIterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from openbrain_api.memories.transfer.importing import lines

LIMIT = 6


async def parts_of(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@given(st.lists(st.binary(max_size=9).map(lambda raw: raw.replace(b"\r", b"\n")), max_size=12))
async def test_lines_do_not_depend_on_the_parts(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    *whole, rest = body.split(b"\n")
    expected = [line if len(line) <= LIMIT else None for line in [*whole, *([rest] if rest else [])]]

    found = [line async for line in lines(parts_of(pieces), LIMIT)]

    assert found == expected


async def test_a_line_without_end_is_not_kept() -> None:
    """A very long line needs no more memory than a chunk."""
    kept = 0
    found = []
    async for line in lines(parts_of([b"x" * 1000] * 1000 + [b"\nok"]), LIMIT):
        found.append(line)
        kept += len(line or b"")

    assert found == [None, b"ok"]
    assert kept == 2
