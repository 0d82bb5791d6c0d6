"""Property 9: a poison entry delays no neighbour and becomes a dead letter that can be replayed; if most entries
fail, the reader stops."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.embedding import ollama
from openbrain.domain.events.streams import STORED, SUBMITTED, dead_letters
from openbrain.ports.streams import DeadFilter, Revival
from openbrain.settings import Embedding, Streams
from openbrain.streams.dead_letters.listing import Box, listed, revive
from openbrain.streams.redis.keys import PARKED
from tests.flow.conftest import Brain
from tests.properties.world import FOREVER_S, SERVERS, at, count_indexed, differences, living, quick
from tests.servers.plugin import Starter
from tests.support.embedder.fake_ollama import NAME, Answer, fake_ollama, ones
from tests.support.waiting import until

BACKOFF = (0.5, 1.0, 2.0, FOREVER_S)
"""The test ends the last pause by hand, so that a slow machine does not decide whether the neighbours are done
before."""
POISON = "arsenic"
DEAD = dead_letters(STORED.name, "embedder")
COUNT = 30


@dataclass
class Model:
    """Crashes on texts with this word, as a model runner can; answers the rest."""

    refuses: str = POISON
    tried: list[float] = field(default_factory=list)

    def answer(self, texts: list[str]) -> Answer:
        if any(self.refuses in text for text in texts):
            if len(texts) == 1:
                self.tried.append(time.monotonic())
            return 500, {"error": "do embedding request: EOF"}
        return ones(texts)


@contextmanager
def model(refuses: str) -> Iterator[tuple[Model, str]]:
    made = Model(refuses)
    with fake_ollama(made.answer) as url:
        yield made, url


@pytest.mark.parametrize("server", SERVERS)
async def test_one_poison_delays_nobody_and_can_be_replayed(
    private_server: Starter, tmp_path: Path, server: str
) -> None:
    assert Streams().backoff_s == (10, 60, 300), "the default"
    streams = quick(private_server(server).url, backoff_s=BACKOFF)
    with model(POISON) as (told, url):
        async with living(at(tmp_path, "", streams=streams, embedding=Embedding(url=url, model=NAME))) as brain:
            for number in range(COUNT):
                what = POISON if number == COUNT // 2 else "sugar"
                await brain.submit(f"s-{number}", content=f"Box {number} holds {what}.")
            await _indexed(brain, COUNT - 1)
            assert await brain.redis.xlen(DEAD) == 0, "the others did not wait for the last attempt"

            await until(lambda: _ends_the_last_pause(brain))
            await until(lambda: _dead(brain, 1))
            (letter,), _ = await listed(brain.redis, [_box()], DeadFilter(), 10)
            assert (letter.stream, letter.group, letter.attempts) == (STORED.name, "embedder", 1 + len(BACKOFF))
            assert 0 < letter.first_at <= letter.last_at
            assert letter.last_at - letter.first_at >= sum(BACKOFF[:-1]) * 1000 * 0.99
            assert letter.error
            assert POISON not in letter.message, "the message contains no content"
            assert '"change":"created"' in letter.fields["__data__"]
            tried = told.tried[-2 * (1 + len(BACKOFF)) :: 2]  # each attempt sends two requests
            pauses = [later - sooner for sooner, later in pairwise(tried)]
            assert all(pause >= least * 0.99 for pause, least in zip(pauses[:-1], BACKOFF[:-1], strict=True)), pauses

            told.refuses = "nothing any more"
            entry = letter.id.removeprefix(f"{_box().name}.")
            assert await revive(brain.redis, _box(), [entry]) == [Revival.DELIVERED]
            await _indexed(brain, COUNT)
            assert await differences(brain.container) == []
            assert await brain.redis.xlen(DEAD) == 0


@pytest.mark.slow("a stopped consumer probes at its pace until what fails succeeds again")
@pytest.mark.parametrize("server", SERVERS)
async def test_where_all_fail_it_stops_and_nothing_is_thrown_away(
    private_server: Starter, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama, "SECOND_TRY_S", 0.01)
    streams = quick(private_server(server).url, backoff_s=(0.2, 0.2, 0.2))
    with model("Box") as (told, url):
        async with living(at(tmp_path, "", streams=streams, embedding=Embedding(url=url, model=NAME))) as brain:
            for number in range(4 * COUNT):
                await brain.submit(f"s-{number}", content=f"Box {number} holds salt.")

            async def stopped() -> bool:
                ready = await brain.http.get("/ready")
                return ready.status_code == 503 and "MostFail" in ready.text

            await until(stopped, pause=0.1)
            assert await brain.redis.xlen(DEAD) < COUNT // 3, "the stream does not end up in the dead letters"
            assert await brain.redis.xlen(dead_letters(SUBMITTED.name, "ingest")) == 0

            told.refuses = "nothing any more"

            async def all_the_others() -> bool:  # the last probe may have been the last attempt of one entry
                return await count_indexed(brain) == 4 * COUNT - await brain.redis.xlen(DEAD)

            await until(all_the_others, pause=0.1)


def _box() -> Box:
    return Box(STORED.name, "embedder", "")


async def _ends_the_last_pause(brain: Brain) -> bool:
    """Make entries due that are in the last pause; return whether there were any. An entry is due when it has been
    idle for the longest pause, so one that waits for the last attempt began at 0, and every other near the end."""
    parked: Any = await brain.redis.xpending_range(STORED.name, "embedder", "-", "+", 10, PARKED)
    waits = [each["message_id"] for each in parked if each["time_since_delivered"] < FOREVER_S * 500]
    for entry in waits:
        await brain.redis.xclaim(STORED.name, "embedder", PARKED, 0, [entry], idle=round(FOREVER_S * 1000), justid=True)
    return bool(waits)


async def _dead(brain: Brain, count: int) -> bool:
    return bool(await brain.redis.xlen(DEAD) == count)


async def _indexed(brain: Brain, count: int) -> None:
    async def done() -> bool:
        return await count_indexed(brain) == count

    await until(done, pause=0.1)
