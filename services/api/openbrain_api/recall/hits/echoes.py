"""Memories that say nothing which one before them does not say: near-equal ones, folded into it."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.wording import Wording, says_all
from openbrain_api.recall.order import RankedMemory


class Folding:
    """Folds; what was read of a memory once is kept."""

    def __init__(self) -> None:
        self._known: dict[str, Wording] = {}

    def fold(self, hits: Sequence[RankedMemory]) -> list[RankedMemory]:
        """Those that say something new, in the same order, each with the ids of those that don't."""
        shown: list[str] = []
        by_subject: defaultdict[object, list[str]] = defaultdict(list)
        echoes: defaultdict[str, list[str]] = defaultdict(list)
        for hit in hits:
            wording = self._wording(hit.memory)
            leaders = by_subject[wording.about]
            leader = next((each for each in leaders if says_all(self._known[each], wording)), None)
            if leader is None:
                leaders.append(hit.memory.id)
                shown.append(hit.memory.id)
            else:
                echoes[leader].append(hit.memory.id)
        return _shown(hits, frozenset(shown), echoes)

    def _wording(self, memory: Memory) -> Wording:
        if memory.id not in self._known:
            self._known[memory.id] = Wording.of(memory)
        return self._known[memory.id]


def _shown(
    hits: Sequence[RankedMemory], shown: Collection[str], echoes: defaultdict[str, list[str]]
) -> list[RankedMemory]:
    return [
        replace(hit, folded=tuple(echoes[hit.memory.id])) if hit.memory.id in echoes else hit
        for hit in hits
        if hit.memory.id in shown
    ]
