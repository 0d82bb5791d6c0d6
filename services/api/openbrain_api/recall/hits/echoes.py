"""Fold echoes: memories that say nothing that a better ranked one does not say."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.outline import Outline, about
from openbrain.domain.text.duplicates.wording import Wording, says_all
from openbrain_api.recall.order import RankedMemory

T = TypeVar("T")


class Folding:
    """Folds hits, and caches the analysis of each memory."""

    def __init__(self) -> None:
        self._subject = _once(about)
        self._outline = _once(Outline.of)
        self._wording = _once(Wording.of)

    def fold(self, hits: Sequence[RankedMemory], most: int | None = None) -> list[RankedMemory]:
        """The hits without echoes, in the same order, each with the ids of its echoes; the first `most` of them."""
        new: list[RankedMemory] = []
        leaders: defaultdict[tuple[str, ...], list[Memory]] = defaultdict(list)
        echoes: defaultdict[str, list[str]] = defaultdict(list)
        for hit in hits:
            alike = leaders[self._subject(hit.memory)]
            leader = next((item.id for item in alike if self._says_all(item, hit.memory)), None)
            if leader is not None:
                echoes[leader].append(hit.memory.id)
            elif most is None or len(new) < most:
                alike.append(hit.memory)
                new.append(hit)
        return [replace(hit, folded=tuple(echoes[hit.memory.id])) if hit.memory.id in echoes else hit for hit in new]

    def _says_all(self, one: Memory, other: Memory) -> bool:
        if not self._outline(one).may_say_all(self._outline(other)):
            return False
        return says_all(self._wording(one), self._wording(other))


def _once(read: Callable[[Memory], T]) -> Callable[[Memory], T]:
    """Cache `read` by memory id."""
    known: dict[str, T] = {}

    def reading(memory: Memory) -> T:
        if memory.id not in known:
            known[memory.id] = read(memory)
        return known[memory.id]

    return reading
