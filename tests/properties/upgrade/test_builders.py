"""A rolling upgrade of the indexes: a service of old code meets an index that only new code can write."""

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.events.streams import STORED
from openbrain.ports.store.generations import GenerationStatus, IndexKind
from openbrain.runtime.container import Container
from openbrain_indexer import app as indexer
from tests.flow.conftest import Brain
from tests.properties.world import SERVERS, at, living, nothing_failed, services
from tests.servers.plugin import Starter
from tests.support.waiting import until

COUNT = 8


class NextIndex:
    """The text index as the next version writes it."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self.builder = f"{index.builder}-next"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)


@pytest.mark.parametrize("server", SERVERS)
async def test_an_old_room_leaves_to_the_new_one_what_it_cannot_write(
    private_server: Starter, tmp_path: Path, server: str
) -> None:
    async with AsyncExitStack() as stack:
        brain = await stack.enter_async_context(living(at(tmp_path, private_server(server).url)))
        store = brain.container.store
        before = [await brain.remember(f"Written by old code, {number}.", embed=False) for number in range(COUNT)]
        await brain.settled()
        (old,) = services(brain, "indexer-text")
        serving = await store.generations.serving(IndexKind.TEXT)
        assert serving is not None

        container = Container(brain.container.settings, shared=True)
        following = NextIndex(brain.container.text)
        container.__dict__.update(text=following, store=store, wake=brain.container.wake)
        building = replace(serving, name=f"{serving.name}-next", builder=following.builder, created_at=0)
        await store.generations.begin(replace(building, status=GenerationStatus.BUILDING))

        async def holds_back() -> bool:
            return "is of builder" in str((await old.unready()).get("generations"))

        await until(holds_back)

        async def asks_anew() -> bool:
            return not await store.index_writers.writers(IndexKind.TEXT)

        await until(asks_anew)  # its earlier knowledge counts until its lease ends; a scan follows that
        after = [await brain.remember(f"Written by new code, {number}.", embed=False) for number in range(COUNT)]
        await until(lambda: _waiting(brain, COUNT))
        assert await brain.recalled("written", top_k=50, text_weight=1.0), "the serving index answers as before"

        new = indexer.text_service(container)
        stack.push_async_callback(new.stop)
        await new.start()
        assert await new.unready() == {}
        await old.stop()  # as the upgrade continues: its entries are given back at once
        await brain.settled()
        await nothing_failed(brain)
        held = await brain.container.text.read(building.name, [*before, *after])
        assert set(held) == set(after), "new code wrote everything since; earlier memories come by its scan"
        answers = await brain.container.text.read(serving.name, [*before, *after])
        assert set(answers) >= set(before)


async def _waiting(brain: Brain, count: int) -> bool:
    """True if exactly this many entries are unread or unacknowledged."""
    groups: Any = await brain.redis.xinfo_groups(STORED.name)
    text = next(group for group in groups if group["name"] == b"indexer-text")
    return bool(text["pending"] + text["lag"] == count)
