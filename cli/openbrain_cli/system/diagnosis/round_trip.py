"""The round trip of one memory through the running system: remember, find by keyword and by meaning, forget."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator

from openbrain.client import OpenBrain
from openbrain_cli.system.diagnosis.check_result import CheckResult, clock_problems, found, timed

PROJECT = "openbrain-doctor"
"""A separate project, so that no agent's recall finds the probe."""

INDEXED_S = 30
_ASK_EVERY_S = 0.05


_PROBE = "every evening the keeper of the lighthouse trims the lamp, and ships find the harbour"
_MEANING = "guiding boats safely into port at night"
"""Means the same as the probe but shares no word with it, so that full text can't find it."""


def _offer(word: str, content: str, *, embed: bool) -> dict[str, object]:
    filed = {"type": "observation", "project": PROJECT, "source": "doctor", "expires_in": 1, "embed": embed}
    return {"content": f"Probe {word}: {content}.", **filed}


async def walk(brain: OpenBrain) -> AsyncIterator[CheckResult]:
    """Yield one result per step. One of the two probes has no vector, so that each index is tested separately. Both are
    forgotten at the end, and expire by themselves within an hour."""
    word, other = (f"doctor{secrets.token_hex(6)}" for _ in range(2))
    sent_at = time.time()
    stored, ms = await timed(lambda: brain.remember(_offer(word, _PROBE, embed=True)))
    clock = clock_problems(stored.created_at.timestamp(), sent_at, time.time())
    yield found("remember", "", "", ms, yellow=clock)
    wordy = await brain.remember(_offer(other, "found by this word alone", embed=False))
    try:
        yield await _indexed(brain, (stored.id, wordy.id))
        yield await _found("recall by keyword", brain, other, wordy.id, "text")
        yield await _found("recall by meaning", brain, _MEANING, stored.id, "vectors")
    finally:
        await brain.forget(wordy.id, reason="doctor's probe")
        _, ms = await timed(lambda: brain.forget(stored.id, reason="doctor's probe"))
    answer, _ = await timed(lambda: brain.recall(f"{word} {other}", project=PROJECT, top_k=20))
    is_hidden = {memory.id for memory in answer.memories}.isdisjoint({stored.id, wordy.id})
    yield found("forget", "", "", ms, red=() if is_hidden else ("a forgotten memory is still found: reindex",))


async def _indexed(brain: OpenBrain, ids: tuple[str, ...]) -> CheckResult:
    """Wait until both indexes have the probes, by polling."""
    started = time.perf_counter()
    problems: list[str] = []
    for memory_id in ids:
        memory = await brain.memory(memory_id)
        while not (memory.indexed or memory.index_error) and time.perf_counter() - started < INDEXED_S:
            await asyncio.sleep(_ASK_EVERY_S)
            memory = await brain.memory(memory_id)
        if memory.index_error:
            problems.append(f"a probe can't be indexed: {memory.index_error}")
        elif not memory.indexed:
            state = memory.state.value
            problems.append(f"a probe is {state} after {INDEXED_S} s: do the embedder and both indexers run?")
    return found("indexed", "", "", round((time.perf_counter() - started) * 1000, 1), red=problems)


async def _found(name: str, brain: OpenBrain, query: str, memory_id: str, index: str) -> CheckResult:
    answer, ms = await timed(lambda: brain.recall(query, project=PROJECT, top_k=20))
    if index in answer.degraded:
        return found(name, "", "", ms, red=(f"{index} did not answer: see its line above",))
    there = any(memory.id == memory_id for memory in answer.memories)
    return found(
        name, "", "", ms, red=() if there else (f"the probe was not found in {index}: is its indexer running?",)
    )
