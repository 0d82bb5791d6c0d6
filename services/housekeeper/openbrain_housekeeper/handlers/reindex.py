"""Operation `reindex`: build a new generation of an index beside the serving one, or write memories again in place.

A build begins a generation, waits until every live writer knows it, walks through the database and announces each
memory for it, compares it with the database, and then swaps: it serves, and the previous one is kept. The progress is
saved after each step, so that another worker can continue; every step is idempotent.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from openbrain.domain.errors import Conflict, NeverRetry, TryLater
from openbrain.domain.events.data import ReindexCompleted
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import REINDEX as STREAM
from openbrain.domain.events.streams import REINDEX_COMPLETED
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.models import cut_otherwise
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import Listed
from openbrain.ports.store.operations import Operation, Progress
from openbrain.ports.store.store import Store
from openbrain.usecases.indexes import comparison_sums, reconcile
from openbrain.usecases.indexes.index_writers import LEASE_S, drop_generation
from openbrain_housekeeper.handlers.reindex_request import (
    MODEL,
    ON_THEIR_WAY,
    event_about,
    extent_of,
    generation_of,
    lacking_vectors,
)

PAGE = 1000
"""Memories announced per step."""
BEHIND = 4000
"""Entries that may wait in the stream before more are announced: live events are read first, so this bounds memory."""
ROUNDS = 5
"""Times that a difference is announced again before it counts as failed."""
SHOWN = 5
"""Maximum ids in a message."""
LEFT = "left"
"""Key in the result: ids missing in the previous round."""
MOST_LEFT = 200
"""Maximum ids stored there. If it is reached, all that are missing in the next round count as stuck."""
GRACE = 10 * MICROSECONDS
"""Changes younger than this (microseconds) are left to the stream that announced them."""
PATIENCE = 600 * MICROSECONDS
"""Longest wait (microseconds) for a busy stream before the comparison is done anyway."""
_BUILDING = frozenset({"begin", "known", "scan", "compare", "swap"})
"""Phases in which the planned generation does not serve."""
GROUPS = {IndexKind.TEXT: ("indexer-text",), IndexKind.VECTOR: ("embedder", "indexer-vector")}
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """An index, and how a generation of it is planned and prepared."""

    index: Callable[[], reconcile.Index]
    plan: Callable[[Operation], Awaitable[Generation]]
    """Deterministic for an operation while the serving generation stays the same."""
    prepare: Callable[[Generation], Awaitable[object]]


Publish = Callable[[Sequence[tuple[str, bytes]]], Awaitable[Sequence[Exception | None]]]
Behind = Callable[[Sequence[str]], Awaitable[int]]
"""Number of `memory.reindex` entries that these groups have not processed yet."""
Oldest = Callable[[Sequence[str]], Awaitable[int | None]]
"""Since when the oldest of them waits, by our clock; None if none waits."""


class Reindexing:
    """Runs one step per call; `result.phase` names the next one."""

    def __init__(
        self,
        store: Store,
        targets: Mapping[IndexKind, Target],
        publish: Publish,
        behind: Behind,
        oldest: Oldest,
        clock: Clock,
    ) -> None:
        self._store, self._targets, self._publish, self._clock = store, targets, publish, clock
        self._behind, self._oldest = behind, oldest
        self._phases: Mapping[str, Callable[[Operation], Awaitable[Progress]]] = {
            "plan": self._plan,
            "begin": self._begin,
            "known": self._wait_for_writers,
            "scan": self._scan,
            "drain": self._drain,
            "compare": self._compare,
            "swap": self._swap,
            "clear": self._clear,
            "complete": self._complete,
        }

    async def __call__(self, operation: Operation) -> Progress:
        """`done` counts the announced memories."""
        if await self._of_another_version(operation):
            # Whoever wrote it is gone: it would wait for ever.
            await self.clean_up(operation)
            _log.warning("reindex.begun_again", generation=generation_of(operation).name)
            return Progress(done=0, total=operation.total, result={"phase": "plan"})
        return await self._phases[operation.result.get("phase", "plan")](operation)

    async def _of_another_version(self, operation: Operation) -> bool:
        """True if the operation builds a generation that this version can't write, and that does not serve yet."""
        if operation.result.get("phase") not in _BUILDING or "generation" not in operation.result:
            return False
        planned = generation_of(operation)
        if planned.builder == self._targets[planned.kind].index().builder:
            return False
        serving = await self._store.generations.serving(planned.kind)
        return serving is None or serving.name != planned.name

    async def clean_up(self, operation: Operation) -> None:
        """Drop a generation that never served. Raise `TryLater` while somebody may still write to it."""
        if "generation" not in operation.result:
            return
        planned = generation_of(operation)
        generations = {
            generation.name: generation for generation in await self._store.generations.generations(planned.kind)
        }
        current = generations.get(planned.name, planned)
        if current.status in (GenerationStatus.SERVING, GenerationStatus.KEPT):
            return
        await drop_generation(self._store, self._targets[planned.kind].index(), current)

    async def _plan(self, operation: Operation) -> Progress:
        kind = IndexKind(operation.request["index"])
        if operation.request.get("in_place"):
            return await self._counted(operation, {"began_at": self._clock.now()})
        serving = await self._store.generations.serving(kind)
        if serving is None:
            raise Conflict(f"there is no {kind} index yet: its indexer creates it when it first starts")
        planned = await self._targets[kind].plan(operation)
        result = {name: getattr(planned, name) for name in ("name", "model", "model_name", "dimensions", "builder")}
        return _next(operation, "begin", generation=result, began_at=self._clock.now(), replaces=serving.name)

    async def _begin(self, operation: Operation) -> Progress:
        planned = generation_of(operation)
        await self._targets[planned.kind].prepare(planned)
        await self._store.generations.begin(planned)
        return _next(operation, "known")

    async def _wait_for_writers(self, operation: Operation) -> Progress:
        planned = generation_of(operation)
        unaware = [
            writer
            for writer in await self._store.index_writers.writers(planned.kind)
            if planned.name not in writer.names
        ]
        if unaware:
            raise TryLater(f"{len(unaware)} index writers do not know the new index yet")
        return await self._counted(operation, {})

    async def _counted(self, operation: Operation, changes: Mapping[str, Any]) -> Progress:
        # Fix the end of the walk now: at a limited rate it would never catch up with many writers. The end is taken
        # from the rows, not from our clock: a writer's clock may differ, and only this walk indexes existing rows.
        measured = await self._store.expected_entries.measure_extent(extent_of(operation))
        return replace(_next(operation, "scan", **changes, until=measured.until), total=measured.rows)

    async def _scan(self, operation: Operation) -> Progress:
        extent, rate = extent_of(operation), int(operation.request.get("rate") or 0)
        if await self._behind(GROUPS[extent.kind]) > BEHIND:
            await asyncio.sleep(0.1)
            return _next(operation, "scan")
        began, page = time.monotonic(), min(PAGE, rate or PAGE)
        rows = await self._store.expected_entries.list_extent(extent, operation.result.get("cursor", ""), page)
        await self._announce(rows, operation)
        if rate:
            await asyncio.sleep(len(rows) / rate - (time.monotonic() - began))
        if len(rows) == page:
            return replace(_next(operation, "scan", cursor=rows[-1].id), done=operation.done + len(rows))
        following = "drain" if operation.request.get("in_place") else "compare"
        result = _next(operation, following, since=self._clock.now(), rounds=0)
        return replace(result, done=operation.done + len(rows))

    async def _announce(self, rows: Sequence[Listed], operation: Operation) -> None:
        name = None if operation.request.get("in_place") else generation_of(operation).name
        now, anew = self._clock.now(), bool(operation.request.get("re_embed"))
        events = [(STREAM.name, event_about(row, name, now, re_embed=anew)) for row in rows]
        results = await self._publish(events) if events else ()
        if any(refused is not None for refused in results):
            raise TryLater("the stream server refused some events; they are published again")

    async def _drain(self, operation: Operation) -> Progress:
        await self._until_done(operation, operation.result["since"])
        failures = await self._store.index_marks.count_failed(extent_of(operation))
        return _next(operation, "complete", failures=failures)

    async def _until_done(self, operation: Operation, announced: int, most: int | None = None) -> bool:
        """Return True once the groups have processed all that was announced by then, and all but `most` later entries
        (live writes may add more all the time). Otherwise raise `TryLater`, or return False after `PATIENCE`."""
        groups = GROUPS[extent_of(operation).kind]
        oldest = await self._oldest(groups)
        done = oldest is None or oldest > announced
        waiting = await self._behind(groups) if not done or most is not None else 0
        if done and (most is None or waiting <= most):
            return True
        if self._clock.now() - announced < PATIENCE:
            raise TryLater(f"{waiting} entries are on their way into the index")
        return False

    async def _compare(self, operation: Operation) -> Progress:
        result = operation.result
        if result.get("announced_by") is None:
            return await self._all_announced(operation)
        most = ON_THEIR_WAY if MODEL in operation.request else None
        quiet = await self._until_done(operation, result["announced_by"], most)
        generation, now = generation_of(operation), self._clock.now()
        if not quiet and now - result.get("compared_at", 0) < PATIENCE // 10:
            raise TryLater("the consumers make no progress: missing entries are looked for again later")
        index = self._targets[generation.kind].index()
        account = await comparison_sums.account(self._store.expected_entries, index, generation)
        # Once the groups are done, all that was announced should be in the index; later changes may be on their way.
        young = result["since"] if quiet else now - GRACE
        lacking: set[str] = set()
        async for some in reconcile.differences(self._store.expected_entries, index, generation, account.differing):
            settled = [item for item in some if reconcile.stamp(item.changed_at, now) < young]
            lacking.update(item.memory_id for item in settled)
            if quiet and settled:
                await reconcile.repair(self._store, index, generation, settled, now)
        if MODEL in operation.request:
            lacking.update(await lacking_vectors(self._store, generation, young, again=quiet))
        failed = await self._store.index_marks.failed_of(generation.kind, sorted(lacking)) if lacking else frozenset()
        rounds = int(result["rounds"]) + quiet
        left = sorted(lacking - failed)
        stuck = _stuck(left, result.get(LEFT, ()))
        if not left or (rounds > ROUNDS and len(stuck) <= int(operation.request.get("max_failures") or 0)):
            failures = len(lacking) - len(left) + len(stuck)
            return _next(operation, "swap", failures=failures, compared=account.due.entries, **{LEFT: []})
        if rounds > ROUNDS:
            raise NeverRetry(
                f"{len(stuck)} memories can't be written into {generation.name}, which is given up: look at the dead "
                f"letters of {STREAM.name}; the first are {', '.join(stuck[:SHOWN])}"
            )
        again = {"since": self._clock.now(), "announced_by": None, LEFT: left[:MOST_LEFT]} if quiet else {}
        return replace(_next(operation, "compare", rounds=rounds, compared_at=now, **again), waits=True)

    async def _all_announced(self, operation: Operation) -> Progress:
        """Wait until all events announced until `since` are in the stream, whose groups then show what is done."""
        oldest = await self._store.outbox.unpublished_since()
        if oldest is not None and oldest <= operation.result["since"]:
            raise TryLater("what was announced is not published yet")
        return _next(operation, "compare", announced_by=self._clock.now())

    async def _swap(self, operation: Operation) -> Progress:
        generation = generation_of(operation)
        generations = {item.name: item for item in await self._store.generations.generations(generation.kind)}
        before = generations.get(operation.result["replaces"])
        # A generation that this version can't write is not kept up to date, so it could not serve again.
        left_behind = before is not None and _left_behind(before, generation)
        await self._store.generations.swap(generation.kind, generation.name, keep=not left_behind)
        _log.info("reindex.swapped", kind=generation.kind.value, generation=generation.name)
        await self._targets[generation.kind].index().expose(generation.name)
        if left_behind or MODEL in operation.request:
            await self._note_unmarked(generation)
            # A writer that still takes it for one being built sets no marks, also for events announced just now: check
            # again once all writers know.
            return _next(operation, "clear", known_at=self._clock.now() + round(LEASE_S * MICROSECONDS))
        return _next(operation, "clear")

    async def _clear(self, operation: Operation) -> Progress:
        """Drop generations that this version can't write: memories erased later would remain in them."""
        generation = generation_of(operation)
        index = self._targets[generation.kind].index()
        for item in await self._store.generations.generations(generation.kind):
            if item.status in (GenerationStatus.KEPT, GenerationStatus.RETIRED) and _left_behind(item, generation):
                await drop_generation(self._store, index, item)
        if known_at := operation.result.get("known_at"):
            await self._note_unmarked(generation, known_at)
        return _next(operation, "complete")

    async def _note_unmarked(self, generation: Generation, known_at: int = 0) -> None:
        """Announce unmarked rows again, so that they get marked: the new index has them, but writers set no marks while
        it was being built. Raise `TryLater` if there are any before `known_at`."""
        async for unmarked in reconcile.unmarked(
            self._store.expected_entries, replace(generation, status=GenerationStatus.SERVING)
        ):
            if unmarked and self._clock.now() < known_at:
                raise TryLater("not every writer knows yet that this index serves: that ends within seconds")
            await self._store.outbox.announce_again([item.memory_id for item in unmarked])

    async def _complete(self, operation: Operation) -> Progress:
        now, result = self._clock.now(), operation.result
        failures = int(result.get("failures", 0))
        seconds = round((now - result["began_at"]) / MICROSECONDS, 3)
        total = max(operation.done, operation.total or 0)
        data = ReindexCompleted(
            workspace_id=operation.request.get("workspace_id") or None,
            org=operation.request.get("org") or None,
            project=operation.request.get("project") or None,
            total=total,
            successes=total - failures,
            failures=failures,
            seconds=seconds,
        )
        event_id = str(uuid.uuid5(uuid.UUID(operation.id), REINDEX_COMPLETED.name))
        body = encode(REINDEX_COMPLETED.name, data, event_id=event_id, at=now, subject=operation.id)
        await self._store.outbox.announce([(REINDEX_COMPLETED.name, body)])
        report = {"successes": data.successes, "failures": failures, "seconds": seconds}
        return replace(_next(operation, "done", **report), done=total, total=total, finished=True)


def _left_behind(generation: Generation, by: Generation) -> bool:
    """True if another version made it: with another builder, or from texts split differently."""
    return generation.builder != by.builder or cut_otherwise(generation.model, by.model)


def _stuck(left: Sequence[str], before: Sequence[str]) -> Sequence[str]:
    """The missing entries that were missing in the previous round too. The others were stored since, even if their
    timestamp is older (a writer's clock may be slow), and are still on their way."""
    return left if len(before) >= MOST_LEFT else [item for item in left if item in before]


def _next(operation: Operation, phase: str, **changes: object) -> Progress:
    return Progress(done=operation.done, total=operation.total, result={**operation.result, **changes, "phase": phase})
