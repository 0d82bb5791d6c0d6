"""Fill a store with the services' own handlers, without streams."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from rich.progress import track

from benchmarks.support.texts import TYPES, spread, texts
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import TryLater
from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import Change, MemoryType
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Extent
from openbrain.ports.store.writes import Origin
from openbrain.runtime.container import Container
from openbrain.usecases.auth import Actor
from openbrain.usecases.remember import Offer, remember
from openbrain_embedder.handlers.embedding import embed_stored
from openbrain_indexer.handlers.text import project_text
from openbrain_indexer.handlers.vectors import project_vector

STEP = 500
BUSY_S = 60
"""How long a server may refuse writes."""


Submitted = Callable[[int, str], Submission]


async def fill(container: Container, count: int, submitted: Submitted | None = None, agent: str = "") -> None:
    """Fill up to `count` memories, in both indexes when this returns: in 2 orgs and 20 projects, or made by `submitted`
    from a number and a text. Existing memories are kept."""
    submitted = submitted or _submission
    all_texts = texts(count)
    begun = time.perf_counter()
    there = await indexed(container)
    for start in track(range(there // STEP * STEP, count, STEP), "filling", disable=not sys.stderr.isatty()):
        numbers = range(start, min(start + STEP, count))
        await _index(container, await stored(container, [submitted(each, all_texts[each]) for each in numbers], agent))
    print(f"filled in {time.perf_counter() - begun:.0f} s", file=sys.stderr)


async def stored(container: Container, submissions: Sequence[Submission], agent: str = "") -> list[str]:
    """Store these memories with the use case of all writes; return their ids."""
    permissions = frozenset(Permission)
    actor = Actor(key_id="b", name="bench", workspace_id="default", agent_id=agent, permissions=permissions)
    offers = [Offer(submission=each, actor=actor, origin=Origin(actor="bench")) for each in submissions]
    outcomes = await remember(
        offers, writes=container.store.writes, clock=container.clock, content_policy=container.content_policy
    )
    return [outcome.memory.id for outcome in outcomes if outcome.memory is not None]


def announced(ids: Sequence[str]) -> list[CloudEvent[MemoryStored]]:
    """The events of these new memories."""
    return [
        CloudEvent[MemoryStored](
            id=memory_id,
            source="/bench",
            type="openbrain.memory.stored.v1",
            data=MemoryStored(
                memory_id=memory_id, workspace_id="default", version=1, revision=1, change=Change.CREATED
            ),
        )
        for memory_id in ids
    ]


async def indexed(container: Container) -> int:
    """The number of memories in the vector index."""
    extent = Extent(kind=IndexKind.VECTOR)
    return await container.store.expected_entries.count_extent(
        extent
    ) - await container.store.expected_entries.count_extent(replace(extent, stale=True))


def _submission(number: int, text: str) -> Submission:
    return Submission(
        content=text,
        type=MemoryType(spread(TYPES, number)),
        org=("acme", "globex")[number % 2],
        project=f"p{number % 20}",
        tags=(f"t{number % 7}",),
    )


async def _index(container: Container, ids: list[str]) -> None:
    await container.store.outbox.delete([entry.id for entry in await container.store.outbox.take(5 * STEP)])
    events = announced(ids)
    text, vectors = await container.text_generation(), await container.vector_generation()
    store, clock = container.store, container.clock
    models = container.embedder, container.token_encoder
    steps = (
        partial(embed_stored, events, store=store, embedder=models[0], tokens=models[1], clock=clock, batch=STEP),
        partial(project_text, ids, store=store, index=container.text, generations=[text]),
        partial(project_vector, ids, store=store, index=container.vectors, generations=[vectors]),
    )
    failed = [error for step in steps for error in (await _patiently(step)).values()]
    if failed:
        raise SystemExit(f"{len(failed)} memories could not be indexed, the last one because: {failed[-1]}")


async def _patiently(step: Callable[[], Awaitable[Mapping[str, Exception]]]) -> Mapping[str, Exception]:
    """Repeat the step while a server is too busy for it, or for some of its memories, as the services do."""
    for _ in range(BUSY_S):
        with suppress(TryLater):
            failures = await step()
            if not any(isinstance(error, TryLater) for error in failures.values()):
                return failures
        await asyncio.sleep(1)
    return await step()
