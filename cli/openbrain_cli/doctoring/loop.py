"""The whole way of one memory through the running system: remember, found by keyword, found by meaning, forgotten."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator

from openbrain import answers
from openbrain.client import OpenBrain
from openbrain_cli.doctoring.findings import Finding, found, timed

PROJECT = "openbrain-doctor"
"""A project of its own, so that no agent's recall meets the probe."""

INDEXED_S = 30
_ASK_EVERY_S = 0.05
_CLOCK_S = 2.0


def _probe(word: str) -> str:
    return f"Probe {word}: every evening the keeper of the lighthouse trims the lamp, and ships find the harbour."


_MEANING = "guiding boats safely into port at night"
"""Says the same as the probe without one of its words: keywords can't find it."""


async def walk(brain: OpenBrain) -> AsyncIterator[Finding]:
    """One finding a step; the probe is forgotten at the end, and expires by itself within the hour."""
    word = f"doctor{secrets.token_hex(6)}"
    offer = {"content": _probe(word), "type": "observation", "project": PROJECT, "expires_in": 1, "source": "doctor"}
    stored, ms = await timed(lambda: brain.remember(offer))
    yield found("remember", "", "", ms, yellow=_clock(stored))
    try:
        yield await _indexed(brain, stored.id)
        yield await _found("recall by keyword", brain, word, stored.id, "text")
        yield await _found("recall by meaning", brain, _MEANING, stored.id, "vectors")
    finally:
        _, ms = await timed(lambda: brain.forget(stored.id, reason="doctor's probe"))
    answer, _ = await timed(lambda: brain.recall(word, project=PROJECT, top_k=5))
    gone = all(memory.id != stored.id for memory in answer.memories)
    yield found("forget", "", "", ms, red=() if gone else ("a forgotten memory is still found: reindex",))


async def _indexed(brain: OpenBrain, memory_id: str) -> Finding:
    """Wait for both indexes, by asking."""
    started = time.perf_counter()
    memory = await brain.memory(memory_id)
    while not memory.indexed and time.perf_counter() - started < INDEXED_S:
        await asyncio.sleep(_ASK_EVERY_S)
        memory = await brain.memory(memory_id)
        if memory.index_error:
            break
    ms = round((time.perf_counter() - started) * 1000, 1)
    if memory.indexed:
        return found("indexed", "", "", ms)
    reason = (
        memory.index_error or f"is {memory.state.value} after {INDEXED_S} s: are embedder and both indexers running?"
    )
    return found("indexed", "", "", ms, red=(f"the probe {reason}",))


async def _found(name: str, brain: OpenBrain, query: str, memory_id: str, index: str) -> Finding:
    answer, ms = await timed(lambda: brain.recall(query, project=PROJECT, top_k=20))
    if index in answer.degraded:
        return found(name, "", "", ms, red=(f"{index} did not answer: see its line above",))
    there = any(memory.id == memory_id for memory in answer.memories)
    return found(
        name, "", "", ms, red=() if there else (f"the probe was not found in {index}: is its indexer running?",)
    )


def _clock(stored: answers.Remembered) -> tuple[str, ...]:
    off = abs(time.time() - stored.created_at.timestamp())
    return (
        ()
        if off <= _CLOCK_S
        else (f"the server's clock differs from this machine's by {off:.0f} s: run a time service",)
    )
