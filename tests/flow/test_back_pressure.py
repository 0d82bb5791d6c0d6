"""The pipeline when something is full or away: writes are accepted up to the limits, reads always, and it recovers."""

import resource
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import STORED, SUBMITTED
from openbrain.settings import Embedding, Housekeeping, Settings, Streams
from openbrain.streams.publishing.publisher import Publisher
from tests.flow.conftest import PATIENT, Brain, started
from tests.support.forms import long_form
from tests.support.processes.settings import group_of
from tests.support.waiting import until

FAST = {"poll_s": 0.2, "reap_s": 0.1, "breaker_s": 0.05, "breaker_max_s": 0.3}
BACKLOG = 10_000 if long_form() else 4_000
OFFER = {"content": "The harbour closes at ten.", "type": "fact"}


async def post(brain: Brain, content: str) -> int:
    return (await brain.http.post("/v1/brain/remember", json={**OFFER, "content": content})).status_code


async def refused(brain: Brain) -> int:
    """Write until writes are refused; return how many were accepted."""
    taken = 0

    async def full() -> bool:
        nonlocal taken
        status = await post(brain, f"written while it fills {taken}")
        taken += status == 201
        assert status in (201, 503)
        return status == 503

    await until(full)
    return taken


async def taken_again(brain: Brain) -> None:
    async def taken() -> bool:
        return await post(brain, "written when there is room again") in (200, 201)

    await until(taken)


async def stored_waiting(brain: Brain) -> int:
    """The number of waiting memory.stored entries; records of recalls may wait too."""
    return sum(entry.stream == STORED.name for entry in await brain.container.store.outbox.take(1000))


async def test_with_the_outbox_full_writes_wait_submissions_lie_and_all_goes_on_by_itself(tmp_path: Path) -> None:
    """Nobody publishes: the outbox fills to its limit and not far beyond."""
    settings = Settings(
        data_dir=tmp_path,
        streams=group_of(Streams, **FAST, batch=8),
        housekeeping=Housekeeping(outbox_limit=40),
        recall=PATIENT,
    )
    async with started(settings) as brain:
        first = await brain.remember("A lighthouse keeper trims the lamp every evening.")
        await brain.settled()  # entries that the relay has published but not yet deleted would count too
        relay, ingest = brain.system.services[0], brain.system.services[1]
        await relay.stop()
        taken = await refused(brain)
        assert taken >= 40

        for number in range(60):
            await brain.submit(f"e-{number}", content=f"submission {number}")

        async def held_back() -> bool:
            return "outbox" in await ingest.unready()

        await until(held_back)
        waiting = await stored_waiting(brain)
        assert first in await brain.recalled("who trims the lamp?")
        health = (await brain.http.get("/v1/health")).json()
        assert (health["status"], health["writes"] is None) == ("degraded", False)
        assert await post(brain, "still too much") == 503
        assert await stored_waiting(brain) == waiting, "ingest reads no further"

        await relay.start()
        await taken_again(brain)
        await brain.settled()

        async def can_continue() -> bool:
            return await ingest.unready() == {}  # the last check of the outbox may be a second old

        await until(can_continue)
        letters: Any = await brain.redis.xlen(f"{SUBMITTED.name}.ingest.dead")
        assert letters == 0, "no submission lost an attempt"
        found = {memory["content"] for memory in await _all(brain)}
        assert {f"submission {number}" for number in range(60)} <= found


@pytest.mark.slow("everything that was refused is tried again at its pause until it is indexed")
@pytest.mark.parametrize("share", [0.85, 1.0])
async def test_with_the_stream_server_full_what_was_taken_is_kept_and_indexed_after(
    tmp_path: Path, share: float
) -> None:
    """maxmemory is reached, and nothing is evicted. With share 1, writes are accepted until nothing at all fits."""
    settings = Settings(data_dir=tmp_path, streams=group_of(Streams, **FAST, memory_share=share), recall=PATIENT)
    async with started(settings) as brain:
        first = await brain.remember("A lighthouse keeper trims the lamp every evening.")
        await brain.indexed(first)
        for number in range(40):
            await brain.submit(f"e-{number}", content=f"submission {number}")
        used = int((await brain.redis.info("memory"))["used_memory"])
        await brain.redis.config_set("maxmemory", int(used * (1.02 if share < 1 else 0.5)))

        await refused(brain)
        assert first in await brain.recalled("who trims the lamp?")

        async def says_why() -> bool:
            # The answer may be a second old.
            return "of its memory" in ((await brain.http.get("/ready")).json()["writes"] or "")

        await until(says_why)
        await brain.redis.config_set("maxmemory", 512 * 1024 * 1024)
        await taken_again(brain)
        await brain.settled()
        found = {memory["content"]: memory for memory in await _all(brain)}
        assert {f"submission {number}" for number in range(40)} <= found.keys(), "what was committed was acknowledged"
        assert all(memory["indexed"] for memory in found.values())


async def test_with_the_embedder_away_and_a_large_backlog_the_hand_is_bounded_and_writing_goes_on(
    tmp_path: Path,
) -> None:
    """Thousands wait in the stream; the process holds a few, and hardly grows."""
    streams = group_of(Streams, **FAST, batch=64, aside=100)
    settings = Settings(data_dir=tmp_path, streams=streams, embedding=Embedding(url="http://127.0.0.1:9"))
    async with started(settings) as brain:
        memory_id = await brain.remember("A lighthouse keeper trims the lamp every evening.")

        async def by_keyword() -> bool:
            return await brain.recalled("lighthouse lamp") == [memory_id]

        await until(by_keyword)
        grown = []
        for _ in range(3):
            await _repeated(brain, BACKLOG)
            await until(lambda: _read_by_text(brain))
            grown.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            pending: Any = await brain.redis.xpending(STORED.name, "embedder")
            assert pending["pending"] <= 100 + 2 * 64
            assert await post(brain, f"written beside it {len(grown)}") == 201
        # The first rounds may fill permanent caches; a process that holds the backlog would grow in each.
        assert grown[-1] - grown[-2] < 20 * 1024, f"KB: {grown}"
        assert (await brain.http.get("/v1/health")).json()["writes"] is None


async def _repeated(brain: Brain, times: int) -> None:
    """Publish the event of this memory many times."""
    found: Any = await brain.redis.xrange(STORED.name, count=1)
    body = found[0][1][FIELD.encode()]
    publisher = Publisher(brain.container.settings.streams)
    for _ in range(times // 500):
        assert await publisher.publish([(STORED.name, body)] * 500) == [None] * 500
    await publisher.close()


async def _read_by_text(brain: Brain) -> bool:
    groups: Any = await brain.redis.xinfo_groups(STORED.name)
    return all(group["lag"] == 0 for group in groups if group["name"] == b"indexer-text")


async def _all(brain: Brain) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        query = {"limit": 100, **({"cursor": cursor} if cursor else {})}
        page = (await brain.http.get("/v1/brain/list", params=query)).json()
        found += page["memories"]
        cursor = page.get("next_cursor")
        if not cursor:
            return found
