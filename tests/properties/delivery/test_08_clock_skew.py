"""Property 8: one process's clock is an hour off. Leases, retries, duplicates, order and expiry are not affected."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.times import to_iso
from openbrain.runtime import adapters
from openbrain.runtime.container import Container
from openbrain_embedder import app as embedder
from openbrain_housekeeper import app as housekeeper
from openbrain_indexer import app as indexer
from openbrain_ingest import app as ingest
from tests.properties.world import HOUR, SERVERS, all_indexed, at, differences, ids_of, living, nothing_failed, services
from tests.servers.plugin import Starter

COUNT = 24


class Wrong:
    """A clock that is off by `skew` microseconds."""

    def __init__(self, right: Any, skew: int) -> None:
        self._right, self._skew = right, skew

    def now(self) -> int:
        return int(self._right.now()) + self._skew


@asynccontextmanager
async def skewed(right: Container, skew: int) -> AsyncIterator[Container]:
    """The parts of a process with that clock: it shares the embedded indexes, and nothing that gives the time."""
    container = Container(right.settings, shared=True)
    clock = Wrong(right.clock, skew)
    shared = {name: getattr(right, name) for name in ("text", "vectors", "embedder", "wake")}
    container.__dict__.update(shared, clock=clock, store=adapters.store(right.settings, clock))
    try:
        yield container
    finally:
        for name in shared:
            del container.__dict__[name]
        await container.close()


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("skew", [HOUR, -HOUR], ids=["ahead", "behind"])
async def test_an_hour_off_changes_nothing(private_server: Starter, tmp_path: Path, server: str, skew: int) -> None:
    async with AsyncExitStack() as stack:
        brain = await stack.enter_async_context(living(at(tmp_path, private_server(server).url)))
        container = await stack.enter_async_context(skewed(brain.container, skew))
        others = [
            ingest.service(container),
            embedder.service(container),
            indexer.text_service(container),
            indexer.vector_service(container),
        ]
        others.append(housekeeper.housekeeper(container))  # type: ignore[arg-type]  # the services have start and stop alike
        for service in others:
            stack.push_async_callback(service.stop)
            await service.start()

        for number in range(COUNT):  # services with the right and the wrong clock share these, each submitted twice
            for _ in range(2):
                await brain.submit(f"s-{number}", content=f"Clock number {number} ticks.")
        await all_indexed(brain, COUNT)
        assert await differences(brain.container) == []

        # Now the services with the wrong clock are alone, and one of them leads.
        for service in (
            *services(brain, "ingest", "embedder", "indexer-text", "indexer-vector"),
            brain.system.services[0],
        ):
            await service.stop()
        soon = to_iso(brain.container.clock.now() + HOUR // 2)
        memory_id = await brain.remember("The sluice opens in half an hour.", expires_at=soon)
        await brain.submit("again", content="Clock number 3 ticks.")
        await all_indexed(brain, COUNT + 1)
        assert await brain.recalled("sluice", text_weight=1.0) == [memory_id]
        answer = await brain.http.patch(f"/v1/brain/memories/{memory_id}", json={"content": "The sluice opens soon."})
        assert answer.status_code == 200, answer.text
        await all_indexed(brain, COUNT + 1)
        assert await brain.recalled("sluice", text_weight=1.0) == [memory_id]
        assert len(await ids_of(brain.container)) == COUNT + 1
        assert await differences(brain.container) == []
        await nothing_failed(brain)
