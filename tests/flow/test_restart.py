"""A start after a crash continues at once with what the process that is gone held."""

from pathlib import Path

from openbrain.ports.store.generations import IndexKind
from tests.flow.conftest import started, usual


async def test_leases_of_a_crashed_predecessor_end_with_the_next_start(tmp_path: Path) -> None:
    settings = usual(tmp_path)
    async with started(settings) as brain:
        store = brain.container.store
        assert await store.leases.acquire("vault.default", "gone", 600)
        await store.index_writers.confirm("gone", IndexKind.TEXT, "t1", 600)

    async with started(settings) as brain:
        store = brain.container.store
        assert await store.leases.acquire("vault.default", "next", 600)
        assert "gone" not in {writer.consumer for writer in await store.index_writers.writers(IndexKind.TEXT)}
