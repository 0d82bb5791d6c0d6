"""Groups events by the generations that they apply to."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.memory import MICROSECONDS, Change
from openbrain.domain.times import from_iso
from openbrain.observability.metrics import INDEXED_SECONDS
from openbrain.ports.store.generations import Generation
from openbrain.usecases.indexes.index_writers import WritableIndexes, write_to_all
from openbrain_indexer.handlers.projection import Failures

_NOT_LIVE = frozenset({Change.DUPLICATE, Change.REINDEX})


class Changed(Protocol):
    """A stream entry with an event about a memory."""

    @property
    def event(self) -> CloudEvent[Any]: ...


async def project_changed(
    batch: Sequence[Changed],
    written: WritableIndexes,
    project: Callable[[Sequence[str], Sequence[Generation]], Awaitable[Failures]],
) -> Failures:
    """Project each memory into the generations of its event: all, those of a model, or the one it names."""
    failures: dict[str, Exception] = {}
    for (name, model), ids in _changed(batch).items():

        async def write(generations: Sequence[Generation], ids: Sequence[str] = ids) -> None:
            failures.update(await project(ids, generations))

        def wanted(generation: Generation, name: str | None = name, model: str | None = model) -> bool:
            return name in (None, generation.name) and model in (None, generation.model)

        await write_to_all(written, write, wanted)
    return failures


def measure_shown(batch: Sequence[Changed], failures: Failures, index: str, now: int) -> None:
    """Measure the delay from commit to index, of live events only: for reindexing it has no meaning."""
    observe = INDEXED_SECONDS.labels(index).observe
    for delivery in batch:
        event, fields = delivery.event, vars(delivery.event.data)
        live = fields.get("generation") is None and fields.get("change") not in _NOT_LIVE
        committed = from_iso(event.time) if live and event.time is not None else None
        if committed is not None and fields["memory_id"] not in failures:
            observe(max(0, now - committed) / MICROSECONDS)


def _changed(batch: Sequence[Changed]) -> Mapping[tuple[str | None, str | None], list[str]]:
    """The memories to project, by the generation and the model that their events name. A duplicate changed nothing:
    its event is acknowledged unread."""
    changed: defaultdict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for delivery in batch:
        # `vars`, because pydantic raises for a missing attribute, which costs more than everything else here.
        fields = vars(delivery.event.data)
        if fields.get("change") is not Change.DUPLICATE:
            changed[fields.get("generation"), fields.get("model")].append(fields["memory_id"])
    return changed
