"""Events grouped by the generations that they are about."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.memory import Change
from openbrain.ports.store.generations import Generation
from openbrain.usecases.indexes.index_writers import WritableIndexes, write_to_all
from openbrain_indexer.handlers.projection import Failures


class Changed(Protocol):
    """An entry with an event of a memory."""

    @property
    def event(self) -> CloudEvent[Any]: ...


async def project_changed(
    batch: Sequence[Changed],
    written: WritableIndexes,
    project: Callable[[Sequence[str], Sequence[Generation]], Awaitable[Failures]],
) -> Failures:
    """Each memory into the generations that its event is about: all, those of a model, or the one it names."""
    failures: dict[str, Exception] = {}
    for (name, model), ids in _changed(batch).items():

        async def write(generations: Sequence[Generation], ids: Sequence[str] = ids) -> None:
            failures.update(await project(ids, generations))

        def wanted(each: Generation, name: str | None = name, model: str | None = model) -> bool:
            return name in (None, each.name) and model in (None, each.model)

        await write_to_all(written, write, wanted)
    return failures


def _changed(batch: Sequence[Changed]) -> Mapping[tuple[str | None, str | None], list[str]]:
    """The memories to project, by the generation and the model that their events name. A duplicate changed nothing:
    its event is acknowledged unread."""
    found: defaultdict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for delivery in batch:
        # Of what an event does not have, pydantic says so by an error, which takes longer than all else here.
        fields = vars(delivery.event.data)
        if fields.get("change") is not Change.DUPLICATE:
            found[fields.get("generation"), fields.get("model")].append(fields["memory_id"])
    return found
