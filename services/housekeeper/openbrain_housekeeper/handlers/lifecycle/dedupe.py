"""Job `dedupe`: of duplicates in one place the best memory is kept; the others are archived and refer to it."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.near import COSINE, Reading, exact_duplicates, near_duplicates
from openbrain.ports.lifecycle import Action, Change, Decide, Selection, Subject
from openbrain.ports.store.operations import Operation
from openbrain.usecases.indexes.neighbours import Placed, place_of
from openbrain_housekeeper.handlers.lifecycle.clustering.clusters import Clusters, Cosine
from openbrain_housekeeper.handlers.lifecycle.job import Found
from openbrain_housekeeper.handlers.lifecycle.joining import joined_names, joined_use


class Dedupe:
    """Finds clusters of duplicates; in each, a memory that is a duplicate of a kept one is archived."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters

    async def find(self, operation: Operation, selection: Selection, cursor: Any) -> Found:
        readings: dict[str, Reading] = {}

        def reading(memory: Memory) -> Reading:
            if memory.id not in readings:
                readings[memory.id] = Reading.of(memory)
            return readings[memory.id]

        def linked(one: Placed, other: Placed) -> bool:
            cosine = one.cosine(other)
            return cosine >= COSINE and near_duplicates(reading(one.memory), reading(other.memory), cosine)

        return await self._clusters.find(operation.id, selection, cursor, linked, COSINE)

    def decide(self, operation: Operation) -> Decide:
        cosine = self._clusters.cosine(operation.id)
        return lambda subjects: decided(subjects, cosine)


def decided(subjects: Sequence[Subject], cosine: Cosine) -> Sequence[Change]:
    """Go through the subjects by `preference`: each is kept, or archived in favour of a kept duplicate. So no two kept
    memories are duplicates, and deciding again changes nothing."""
    readings = {subject.memory.id: Reading.of(subject.memory) for subject in subjects}
    stays: list[Subject] = []
    behind: defaultdict[str, list[tuple[Subject, str]]] = defaultdict(list)
    for subject in sorted(subjects, key=preference, reverse=True):
        memory = subject.memory
        for best in stays:
            why = _why(readings[best.memory.id], readings[memory.id], cosine(best.memory, memory))
            if why and place_of(best.memory) == place_of(memory):
                behind[best.memory.id].append((subject, why))
                break
        else:
            stays.append(subject)
    return [change for best in stays if best.memory.id in behind for change in _changes(best, behind[best.memory.id])]


def preference(subject: Subject) -> tuple[Any, ...]:
    """Sort key: longest expiry, then confirmed, then most used, then newest."""
    memory, use = subject.memory, subject.use
    lasts = (memory.expires_at is None, memory.expires_at or 0)
    confirmed = memory.confirmed_at > memory.created_at
    return *lasts, confirmed, use.used, use.recalls, memory.created_at, memory.id


def _why(one: Reading, other: Reading, cosine: float) -> str:
    if exact_duplicates(one, other):
        return "exact duplicate"
    return f"near duplicate, cosine {cosine:.3f}" if near_duplicates(one, other, cosine) else ""


def _changes(best: Subject, behind: Sequence[tuple[Subject, str]]) -> Sequence[Change]:
    others = [subject for subject, _ in behind]
    after = joined_names(best.memory, [subject.memory for subject in others])
    use = joined_use([best, *others])
    archived = [
        Change(memory_id=subject.memory.id, action=Action.ARCHIVED, why=why, into=best.memory.id)
        for subject, why in behind
    ]
    if after == best.memory and use == best.use:
        return archived
    why = f"stands for {len(others)} more"
    return [Change(memory_id=best.memory.id, action=Action.REWRITTEN, why=why, after=after, use=use), *archived]
