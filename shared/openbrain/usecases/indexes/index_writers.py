"""The generations that a process writes; valid only until its lease ends.

A new generation is filled from the database once every live writer knows it. Writers whose lease has expired are not
waited for. So a process that was suspended asks again before it treats its batch as written, and writes the generations
it did not know.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from openbrain.domain.errors import NeverRetry, SetupError, TryLater
from openbrain.ports.index import Replaceable
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.store import Store

LEASE_S = 5.0
"""The longest wait of a new generation for a writer that has just renewed its lease."""
FLAGS = {IndexKind.TEXT: "--text", IndexKind.VECTOR: "--vectors"}
_log = structlog.get_logger(__name__)

Prepare = Callable[[Generation], Awaitable[object]]


class WritableIndexes:
    """The written generations of a kind that this process can write, the serving one first."""

    def __init__(
        self,
        store: Store,
        kind: IndexKind,
        builder: Callable[[], str],
        prepare: Prepare,
        consumer: str,
        *,
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`builder`: returns that of this process's index. `prepare` makes a generation writable; called once for
        each."""
        self._store, self._kind, self._builder, self._prepare = store, kind, builder, prepare
        self.consumer, self._lease_s, self._clock = consumer, lease_s, clock
        self._known: Sequence[Generation] = ()
        self._until = float("-inf")
        self._prepared: set[str] = set()
        self._lock = asyncio.Lock()

    async def get(self) -> Sequence[Generation]:
        """Return the generations to write now. Raise `TryLater` if another version must write them or there are
        none."""
        async with self._lock:
            if self._clock() >= self._until:
                began = self._clock()
                builder = self._builder()
                written = await self._store.index_writers.confirm(self.consumer, self._kind, builder, self._lease_s)
                self._known = await self._ready(writable(written, self._kind, builder))
                self._until = began + self._lease_s
            return self._known

    async def check(self) -> None:
        """Raise what `get` would raise, for /ready."""
        builder = self._builder()
        writable(await self._store.generations.written(self._kind), self._kind, builder)

    async def _ready(self, generations: Sequence[Generation]) -> Sequence[Generation]:
        for generation in generations:
            if generation.name not in self._prepared:
                try:
                    await self._prepare(generation)
                except (SetupError, NeverRetry) as error:
                    # A refusal to create the index must not turn entries into dead letters.
                    raise TryLater(str(error)) from error
                self._prepared.add(generation.name)
                _log.info("indexer.writes", kind=self._kind.value, generation=generation.name, status=generation.status)
        return generations


def writable(written: Sequence[Generation], kind: IndexKind, builder: str) -> Sequence[Generation]:
    """Return the generations of this builder. Raise `TryLater` if there are none, or if the newest has another builder:
    then a process of another version must write. Older ones of other builders are no longer written; they answer until
    the new one serves."""
    if not written:
        raise TryLater(f"there is no {kind} index yet: its indexer creates it as soon as it can")
    mine = [item for item in written if item.builder == builder]
    newest = max(written, key=lambda item: item.created_at)
    if mine and (newest.builder == builder or max(item.created_at for item in mine) >= newest.created_at):
        return mine
    raise TryLater(
        f"the {kind} index {newest.name} is of builder {newest.builder}, but this version writes {builder}: "
        f"run the version that built it, or build a new index with `openbrain reindex {FLAGS[kind]}`"
    )


async def drop_generation(store: Store, index: Replaceable, generation: Generation) -> None:
    """Remove a generation that does not serve: stop its writers, drop the index, then delete the row. Raise `TryLater`
    while a writer may still write it."""
    known = any(item.name == generation.name for item in await store.generations.generations(generation.kind))
    if known:
        await store.generations.retire(generation.kind, generation.name)
    if any(generation.name in writer.names for writer in await store.index_writers.writers(generation.kind)):
        raise TryLater("this index is still being written: that ends within seconds")
    await index.drop(generation.name)
    await store.generations.drop(generation.kind, generation.name)


async def write_to_all(
    written: WritableIndexes,
    write: Callable[[Sequence[Generation]], Awaitable[None]],
    wanted: Callable[[Generation], bool] = lambda _: True,
) -> None:
    """Call `write` for all wanted generations, and again for those that became known meanwhile."""
    done: set[str] = set()
    while missing := [item for item in await written.get() if item.name not in done and wanted(item)]:
        await write(missing)
        done.update(item.name for item in missing)
