"""Operation `purge`: remove what was erased in the database from streams, indexes and files too."""

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import HOUR
from openbrain.ports.clock import Clock
from openbrain.ports.index import Scrubbed
from openbrain.ports.store.generations import Generation
from openbrain.ports.store.operations import TRACES, Operation, Progress
from openbrain.ports.store.store import Store
from openbrain.ports.store.writes import PURGE
from openbrain.ports.streams import Doomed, Swept
from openbrain.usecases import purge_traces

OWN = frozenset({"streams", "embeddings", "tombstones"})
"""Phases that concern only the memories of this purge. The others clean whole indexes and files."""
LEFT = "done by a later purge"
PATIENCE = HOUR
"""Age up to which a purge leaves the shared phases to later purges. Limited, because new purges may never stop."""
WRITTEN_AGAIN = 500
"""Index entries rewritten in one step."""
ROUNDS = 20
"""Maximum number of checks whether an index is clean."""


class StreamFiles(Protocol):
    """The stream operations that a purge needs."""

    async def sweep(self, doomed: Doomed) -> Swept: ...

    async def settle_files(self) -> str: ...


class Index(Protocol):
    """The index operation that a purge needs."""

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed: ...


Project = Callable[[Sequence[str]], Awaitable[object]]
"""Writes the current rows of these memories into the text index."""
Indexes = Mapping[str, tuple[Callable[[], Index], Callable[[], Awaitable[Sequence[Generation]]]]]
"""By name: a factory of the index, and its written generations, the serving one first."""


def purge_after(operation: Operation) -> Operation:
    """The purge of files, queued at the end of an operation. Its id is derived, so a repeated step queues no second."""
    return Operation(
        id=str(uuid.uuid5(uuid.UUID(operation.id), PURGE)),
        workspace_id=operation.workspace_id,
        kind=PURGE,
        actor=operation.actor,
        request={"ids": []},
    )


class Purging:
    """One phase per step. A phase is recorded in the result when done; after a crash an unrecorded one is repeated."""

    def __init__(
        self, store: Store, streams: StreamFiles, indexes: Indexes, clock: Clock, project: Project | None = None
    ) -> None:
        self._store, self._streams, self._indexes, self._project = store, streams, indexes, project
        self._clock = clock
        self._unclean: dict[tuple[str, str], _Cleaning] = {}
        self._cleaned: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}

    async def __call__(self, operation: Operation) -> Progress:
        """`done` of `total` phases."""
        phases: dict[str, Callable[[Operation], Awaitable[object]]] = {
            "streams": self._sweep,
            "embeddings": self._drop_embeddings,
            "tombstones": self._tombstones,
            **{name: self._cleaner(name) for name in self._indexes},
            "database": self._scrub,
            "stream_files": self._settle_files,
        }
        result = dict(operation.result)
        name = next((name for name in phases if name not in result), None)
        outcome = None if name is None else await self._phase(name, phases[name], operation)
        if name is not None and outcome is not None:
            result[name] = outcome
        done = sum(phase in result for phase in phases)
        return Progress(done=done, total=len(phases), result=result, finished=done == len(phases))

    async def _phase(
        self, name: str, phase: Callable[[Operation], Awaitable[object]], operation: Operation
    ) -> object | None:
        """Run the phase. A shared phase is left to a later purge if there is one, so that it is done once for all."""
        young = self._clock.now() - operation.created_at < PATIENCE
        if name not in OWN and young and await self._store.operations.followed(operation):
            return LEFT
        return await phase(operation)

    async def _sweep(self, operation: Operation) -> object:
        workspace_id = operation.workspace_id
        keys = await self._store.writes.blank_keys(workspace_id, _ids(operation))
        contents = frozenset(operation.request.get(TRACES, {}).get("contents", ()))
        doomed = purge_traces.of_memories(workspace_id, contents, frozenset(keys), operation.created_at)
        return asdict(await self._streams.sweep(doomed))

    async def _drop_embeddings(self, operation: Operation) -> object:
        inputs = operation.request.get(TRACES, {}).get("inputs", ())
        return {"dropped": await self._store.vectors.drop_embeddings(inputs)}

    async def _tombstones(self, operation: Operation) -> object:
        if not await self._store.index_marks.tombstoned(_ids(operation)):
            raise TryLater("an index has not taken every removal yet; look for dead letters if this lasts")
        return {"written": True}

    async def _scrub(self, _operation: Operation) -> object:
        return dict(await self._store.scrub())

    async def _settle_files(self, _operation: Operation) -> object:
        return await self._streams.settle_files()

    def _cleaner(self, name: str) -> Callable[[Operation], Awaitable[object]]:
        async def clean(operation: Operation) -> object:
            index, written = self._indexes[name]
            generations = [item.name for item in await written()]
            cleaned = self._cleaned.setdefault((operation.id, name), {})
            for generation in generations:
                if generation not in cleaned:
                    cleaning = self._unclean.setdefault((operation.id, generation), _Cleaning(index(), self._project))
                    if (done := await cleaning.step(generation)) is None:
                        return None
                    del self._unclean[operation.id, generation]
                    cleaned[generation] = done
            del self._cleaned[operation.id, name]
            if not generations:
                return {"note": "there is no index yet"}
            serving, *beside = (cleaned[generation] for generation in generations)
            return {**serving, "beside": beside} if beside else serving

        return clean


class _Cleaning:
    """Cleaning of one index. Entries that the engine can't clean by itself are rewritten from the database."""

    def __init__(self, index: Index, project: Project | None) -> None:
        self._index, self._project = index, project
        self._parts: Sequence[str] | None = None
        self._again: list[str] = []
        self._rounds = self._written = 0

    async def step(self, name: str) -> dict[str, Any] | None:
        """Return the result, or None while there is more to do."""
        if self._again and self._project is not None:
            some, self._again = self._again[:WRITTEN_AGAIN], self._again[WRITTEN_AGAIN:]
            await self._project(some)
            self._written += len(some)
            return None
        began = time.monotonic()
        scrubbed = await self._index.scrub(name, self._parts)
        self._parts, self._again = scrubbed.parts, list(scrubbed.again)
        self._rounds += 1
        figures = {**scrubbed.details, "written_again": self._written, "seconds": round(time.monotonic() - began, 3)}
        if not scrubbed.parts:
            return figures
        if not self._again:
            raise TryLater("the index still holds what was removed: it is merged away in a moment")
        if self._rounds >= ROUNDS or self._project is None:
            return figures | {"left": len(scrubbed.parts)}
        return None


def _ids(operation: Operation) -> Sequence[str]:
    ids: Sequence[str] = operation.request["ids"]
    return ids
