"""Property 5: with a model that is slow, down or hanging, no work is done twice, few requests are sent, and few
entries are held.

The model is a fake, because a real one can't be made to fail on demand.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.events.streams import STORED
from openbrain.settings import Embedding, Streams
from openbrain_embedder import app as embedder
from tests.flow.conftest import Brain
from tests.properties.world import SERVERS, all_indexed, at, differences, living, nothing_failed, quick
from tests.servers.plugin import Starter
from tests.support.embedder.fake_ollama import NAME, Answer, fake_ollama, ones
from tests.support.waiting import until

COUNT = 300
BATCH, ASIDE = 16, 32


@dataclass
class Model:
    """Embeds as `mode` says; records what it was asked."""

    mode: str = "good"
    asked: Counter[str] = field(default_factory=Counter)
    calls: list[float] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)

    def answer(self, texts: list[str]) -> Answer:
        self.calls.append(time.monotonic())
        match self.mode:
            case "slow":
                time.sleep(3)
            case "hanging":
                self.free.wait(30)
            case "down":
                return 500, {"error": "the runner crashed"}
        self.asked.update(texts)
        return ones(texts)


@contextmanager
def model() -> Iterator[tuple[Model, str]]:
    made = Model()
    with fake_ollama(made.answer) as url:
        try:
            yield made, url
        finally:
            made.free.set()


@asynccontextmanager
async def two_embedders(folder: Path, streams: Streams, url: str, timeout_s: float) -> AsyncIterator[Brain]:
    """A pipeline with a second replica of the embedder."""
    chosen = Embedding(url=url, model=NAME, timeout_s=timeout_s, batch=8)
    async with AsyncExitStack() as stack:
        brain = await stack.enter_async_context(living(at(folder, "", streams=streams, embedding=chosen)))
        second = embedder.service(brain.container)
        stack.push_async_callback(second.stop)
        await second.start()
        yield brain


@pytest.mark.parametrize("server", SERVERS)
async def test_work_longer_than_the_lease_is_done_once(private_server: Starter, tmp_path: Path, server: str) -> None:
    """A lease of 1.5 s is renewed while the model takes 3 s per call, and the other embedder claims nothing."""
    streams = quick(private_server(server).url, lease_s=1.5, batch=BATCH)
    with model() as (told, url):
        async with two_embedders(tmp_path, streams, url, timeout_s=60) as brain:
            told.mode = "slow"
            for number in range(2 * BATCH):
                await brain.submit(f"s-{number}", content=f"Slow number {number}.")
            await all_indexed(brain, 2 * BATCH)
            assert await differences(brain.container) == []
            await nothing_failed(brain)
    ours = {text: times for text, times in told.asked.items() if "Slow number" in text}
    assert len(ours) == 2 * BATCH
    assert set(ours.values()) == {1}, "nobody embedded what another held"


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("mode", [pytest.param("down", marks=pytest.mark.long("a model that hangs")), "hanging"])
async def test_while_it_is_away_little_is_asked_and_little_is_held(
    private_server: Starter, tmp_path: Path, server: str, mode: str
) -> None:
    streams = quick(private_server(server).url, batch=BATCH, aside=ASIDE)
    with model() as (told, url):
        async with two_embedders(tmp_path, streams, url, timeout_s=0.5) as brain:
            await brain.indexed(await brain.remember("The first has a vector."))
            told.mode = mode
            for number in range(COUNT):
                await brain.submit(f"s-{number}", content=f"Waits for its vector, {number}.")
            await _text_found(brain, COUNT + 1)
            told.calls.clear()
            most = 0
            began = time.monotonic()
            while (lasted := time.monotonic() - began) < 5:
                group = await _embedder_group(brain)
                most = max(most, group["pending"])
                await asyncio.sleep(0.1)
            assert 0 < most <= 2 * (BATCH + ASIDE), "waiting entries are in the stream, not pending"
            # Two breakers. Their pauses grow to a second and vary at random over its second half: four tries at first,
            # then at most one every half second. A try sends two requests, and then asks whether the model is alive at
            # all.
            assert len(told.calls) <= 2 * 3 * (4 + lasted / 0.5), told.calls

            told.mode = "good"
            told.free.set()
            await all_indexed(brain, COUNT + 1)
            assert await differences(brain.container) == []
            await nothing_failed(brain)


async def _embedder_group(brain: Brain) -> dict[str, Any]:
    groups: Any = await brain.redis.xinfo_groups(STORED.name)
    return next(group for group in groups if group["name"] == b"embedder")


async def _text_found(brain: Brain, count: int) -> None:
    """Wait until the text index can find memories that have no vectors yet."""

    async def done() -> bool:
        groups: Any = await brain.redis.xinfo_groups(STORED.name)
        text = next(group for group in groups if group["name"] == b"indexer-text")
        return bool(text["entries-read"] and text["entries-read"] >= count and not (text["pending"] or text["lag"]))

    await until(done, pause=0.1)
