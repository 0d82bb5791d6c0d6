"""Two consumers share a stream while everything goes wrong at random (seeded): nothing is lost."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from openbrain.domain.errors import NeverRetry, TryLater
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.reading.service import Service
from tests.servers.plugin import Starter
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.streams.consumers import Looks, Seen, eventually, looking, numbers, publish, scaled, service, stored

EVENTS = 400
REFUSED = {13, 130}


@pytest.mark.parametrize("server", ["valkey", "redis"])
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_entry_is_handled_at_least_once_or_a_dead_letter(
    private_server: Starter, server: str, seed: int
) -> None:
    chance = random.Random(seed)
    process = private_server(server)
    done: Counter[int] = Counter()

    async def handle(batch: Sequence[Delivery[Any]]) -> Results:
        await asyncio.sleep(chance.random() * 0.01)
        fate = chance.random()
        if fate < 0.05:
            raise TryLater("a dependency is down")
        if fate < 0.10:
            raise RuntimeError
        results: list[Exception | None] = []
        for number in numbers(batch):
            refused = number in REFUSED
            failed = not refused and chance.random() < 0.02
            results.append(NeverRetry("refused") if refused else LookupError() if failed else None)
            if not refused and not failed:
                done[number] += 1
        return results

    async with TcpProxy(process.port).open() as proxy:
        direct = scaled(process.url, batch=8, backoff_s=(0.05,) * 12, lease_s=0.5, abandoned_limit=50, shutdown_s=1)
        shaky = direct.model_copy(update={"url": f"redis://127.0.0.1:{proxy.port}/0"})
        services = [service(shaky, handle), service(direct, handle)]
        async with looking(direct) as looks:
            await looks.client.config_set("appendfsync", "no")
            producing = asyncio.create_task(_produce(direct))
            await asyncio.gather(*(each.start() for each in services))
            try:
                while not producing.done():
                    await _harm(chance, services, proxy, looks)
                proxy.silent = False
                await producing
                await eventually(looks.idle)
            finally:
                await asyncio.gather(*(each.stop() for each in services))
            dead = {int(letter["__data__"].split('"id":"')[1].split('"')[0]) for letter in await looks.dead()}
            assert await looks.state() == {}

    assert dead == REFUSED
    assert set(done) == set(range(EVENTS)) - REFUSED


async def _produce(settings: Any) -> None:
    for start in range(0, EVENTS, 10):
        await publish(settings, *(stored(number) for number in range(start, start + 10)))
        await asyncio.sleep(0.05)


async def _harm(chance: random.Random, services: list[Service], proxy: TcpProxy, looks: Looks) -> None:
    """Inject one random fault, and let some time pass."""
    match chance.choice(["cut", "silence", "restart room", "steal", "nothing"]):
        case "cut":
            proxy.cut()
        case "silence":
            proxy.silent = True
            await asyncio.sleep(0.3)
            proxy.silent = False
        case "restart room":
            victim = chance.choice(services)
            await victim.stop()
            await victim.start()
        case "steal":  # as if a third consumer took some and died
            with suppress(Exception):
                held = await looks.client.xpending_range(looks.stream, looks.group, "-", "+", 5)
                ids = [each["message_id"] for each in held]
                await looks.client.xclaim(looks.stream, looks.group, "ghost", 0, ids, justid=True)
    await asyncio.sleep(chance.random() * 0.2)


async def test_two_consumers_share_the_work(valkey_server: Any) -> None:
    settings = scaled(valkey_server.url, batch=5)

    async def slow(_: Sequence[Delivery[Any]]) -> None:
        await asyncio.sleep(0.01)

    one, two = Seen(slow), Seen(slow)
    services = [service(settings, one), service(settings, two)]
    await asyncio.gather(*(each.start() for each in services))
    await publish(settings, *(stored(number) for number in range(200)))
    async with looking(settings) as looks:
        await eventually(looks.idle)
    await asyncio.gather(*(each.stop() for each in services))

    assert sorted(one.all + two.all) == list(range(200))
    assert min(len(one.all), len(two.all)) >= 40
