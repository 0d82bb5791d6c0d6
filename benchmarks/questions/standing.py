"""Ten thousand standing queries of a workspace, and a thousand memories a minute: the time from the request that stores
a memory until it is in the inbox of a waiting agent, and the CPU time of matching compared with embedding.

The system is `openbrain up` with its embedded model. A filter matches every memory, and its agent polls its inbox all
the time. Each memory is matched against all queries; one in ten contains the words of one.
"""

import argparse
import asyncio
import random
import re
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from benchmarks.support import texts as synthetic
from benchmarks.support.report import Report, Row
from benchmarks.support.system import System, running

NAME = "standing"
OF_KEY = 200
AT_ONCE = 8
LOOK_S = 0.02
PATIENCE_S = 120.0
GOAL_S = 3.0
_TOPICS = (
    "payment gateway invoice deploy cache queue token vault index backup release schema tenant retry quota".split()
)
_DOINGS = "times out|leaks|is slow|fails at night|loses writes|needs a key|was renamed|returns 500|is read-only".split(
    "|"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and duration."""
    parser.add_argument("--standing-queries", type=int, default=10_000)
    parser.add_argument("--standing-per-minute", type=int, default=1_000)
    parser.add_argument("--standing-seconds", type=int, default=60)


def run(options: argparse.Namespace) -> Report:
    """Measure one run, which gives one latency per memory."""
    environment = {"OPENBRAIN_SERVER__RATE_PER_MINUTE": "0", "OPENBRAIN_SERVER__METRICS_OPEN": "true"}
    with running(environment) as system:
        return asyncio.run(_measured(system, options))


async def _measured(system: System, options: argparse.Namespace) -> Report:
    queries = [
        f"{first} {second} {doing} of team {number}"
        for number, (first, second, doing) in enumerate(_phrases(options.standing_queries - 1))
    ]
    async with _client(system, system.key) as owner:
        await _subscribed(system, owner, queries)
        watcher = await _key(owner, "watcher")
        count = round(options.standing_per_minute * options.standing_seconds / 60)
        texts = _texts(queries, count)
        async with _client(system, watcher) as heard:
            await _post(heard, "/v1/brain/subscriptions", {"filter": {"tags": ["bench"]}})
            await _one(owner, heard, "one that warms up")
            before = await _figures(owner)
            begun = time.perf_counter()
            latencies = await _told(owner, heard, texts, 60 / options.standing_per_minute)
            seconds = time.perf_counter() - begun
            after = await _figures(owner)
    matching, embedding = (after[group] - before[group] for group in ("matcher", "embedder"))
    shares = statistics.quantiles(latencies, n=100, method="inclusive")
    rows = (
        Row("stored to delivered, p50", "s", (shares[49],)),
        Row("stored to delivered, p99", "s", (shares[98],), goal=GOAL_S, at_most=True),
        Row("matching, of one core", "", (matching / seconds,), goal=1.0, at_most=True),
        Row("matching a memory", "ms", (matching / count * 1000,), "embedding it", (matching / embedding,)),
    )
    told = after["delivered"] - before["delivered"]
    note = f"{len(queries) + 1} standing queries, {count} memories in {seconds:.0f} s, {told:.0f} matches"
    return Report(NAME, rows, (note,))


def _phrases(count: int) -> Sequence[tuple[str, str, str]]:
    chance = random.Random(7)
    return [(chance.choice(_TOPICS), chance.choice(_TOPICS), chance.choice(_DOINGS)) for _ in range(count)]


def _texts(queries: Sequence[str], count: int) -> list[str]:
    chance = random.Random(8)
    plain = synthetic.texts(count, 8)
    return [f"{text} {chance.choice(queries)}." if number % 10 == 0 else text for number, text in enumerate(plain)]


async def _subscribed(system: System, owner: httpx.AsyncClient, queries: Sequence[str]) -> None:
    """Register the queries, with as many keys as needed, each for another agent."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(client: httpx.AsyncClient, query: str) -> None:
        async with places:
            await _post(client, "/v1/brain/subscriptions", {"query": query, "min_similarity": 0.6})

    for start in range(0, len(queries), OF_KEY):
        secret = await _key(owner, f"agent-{start}")
        async with _client(system, secret) as client:
            await asyncio.gather(*(one(client, query) for query in queries[start : start + OF_KEY]))


async def _told(
    owner: httpx.AsyncClient, heard: httpx.AsyncClient, texts: Sequence[str], pause_s: float
) -> Sequence[float]:
    """Seconds of each memory. Memories are sent at fixed times, without waiting for the previous answer."""
    sent: dict[str, float] = {}
    arrived: dict[str, float] = {}

    async def send(text: str) -> None:
        at = time.perf_counter()
        made = await _post(owner, "/v1/brain/remember", {"content": text, "type": "fact", "tags": ["bench"]})
        sent[made["id"]] = at

    async def look() -> None:
        after = (await _get(heard, "/v1/messages/inbox", {"limit": 100})).get("next_after") or 0
        while True:
            page = await _get(heard, "/v1/messages/inbox", {"after": after, "limit": 100})
            for message in page["messages"]:
                arrived.setdefault(message["match"]["memory_id"], time.perf_counter())
            after = page["next_after"] or after
            if not page["messages"]:
                await asyncio.sleep(LOOK_S)

    looking = asyncio.create_task(look())
    begun, sending = time.perf_counter(), []
    for number, text in enumerate(texts):
        await asyncio.sleep(max(0.0, begun + number * pause_s - time.perf_counter()))
        sending.append(asyncio.create_task(send(text)))
    await asyncio.gather(*sending)
    until = time.perf_counter() + PATIENCE_S
    while not sent.keys() <= arrived.keys() and time.perf_counter() < until:  # noqa: ASYNC110 - `look` tells nobody
        await asyncio.sleep(LOOK_S)
    looking.cancel()
    if lost := sent.keys() - arrived.keys():
        raise SystemExit(f"{len(lost)} of {len(sent)} memories were not delivered in {PATIENCE_S:.0f} s")
    return [arrived[each] - at for each, at in sent.items()]


async def _one(owner: httpx.AsyncClient, heard: httpx.AsyncClient, text: str) -> None:
    await _told(owner, heard, [text], 0)


async def _figures(owner: httpx.AsyncClient) -> Mapping[str, float]:
    """Handler seconds by group, and number of deliveries, so far."""
    text = (await owner.get("/metrics")).raise_for_status().text
    found = {"matcher": 0.0, "embedder": 0.0}
    for line in text.splitlines():
        told = re.match(r'openbrain_stream_handler_seconds_sum\{group="(matcher|embedder)"[^}]*\} (\S+)', line)
        if told:
            found[told[1]] += float(told[2])
    delivered = re.search(r'openbrain_standing_matches_total\{outcome="delivered"\} (\S+)', text)
    return {**found, "delivered": float(delivered[1]) if delivered else 0.0}


async def _key(owner: httpx.AsyncClient, agent: str) -> str:
    body = {"name": agent, "agent_id": agent, "permissions": ["brain.read", "brain.write"]}
    return str((await _post(owner, "/v1/admin/keys", body))["key"])


async def _post(client: httpx.AsyncClient, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await client.post(path, json=body)).raise_for_status().json()
    return found


async def _get(client: httpx.AsyncClient, path: str, query: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(path, params=query)).raise_for_status().json()
    return found


def _client(system: System, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=system.url, headers={"Authorization": f"Bearer {key}"}, timeout=120)
