"""Memories that say nothing which one before them does not say: near-equal ones, folded into it."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.outline import Outline, about
from openbrain.domain.text.duplicates.wording import Wording, says_all
from openbrain_api.recall.order import RankedMemory


class Folding:
    """Folds; what was read of a memory once is kept."""

    def __init__(self) -> None:
        self._known: dict[str, Wording] = {}
        self._outlines: dict[str, Outline] = {}
        self._about: dict[str, tuple[str, ...]] = {}

    def fold(self, hits: Sequence[RankedMemory]) -> list[RankedMemory]:
        """The hits that say something new, in the same order, each with the ids of its echoes."""
        shown: list[str] = []
        leaders: defaultdict[tuple[str, ...], list[Memory]] = defaultdict(list)
        echoes: defaultdict[str, list[str]] = defaultdict(list)
        for hit in hits:
            alike = leaders[self._subject(hit.memory)]
            leader = next((item.id for item in alike if self._says_all(item, hit.memory)), None)
            if leader is None:
                alike.append(hit.memory)
                shown.append(hit.memory.id)
            else:
                echoes[leader].append(hit.memory.id)
        return _shown(hits, frozenset(shown), echoes)

    def _says_all(self, one: Memory, other: Memory) -> bool:
        if not self._outline(one).may_say_all(self._outline(other)):
            return False
        return says_all(self._wording(one), self._wording(other))

    def _subject(self, memory: Memory) -> tuple[str, ...]:
        if memory.id not in self._about:
            self._about[memory.id] = about(memory)
        return self._about[memory.id]

    def _outline(self, memory: Memory) -> Outline:
        if memory.id not in self._outlines:
            self._outlines[memory.id] = Outline.of(memory)
        return self._outlines[memory.id]

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
