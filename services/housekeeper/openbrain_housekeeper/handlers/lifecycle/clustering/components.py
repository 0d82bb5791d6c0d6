"""What hangs together by links between two."""

from collections import defaultdict
from collections.abc import Sequence


class Components:
    """Connected components that grow with every link."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def join(self, one: int, other: int) -> None:
        self._parents[self._root(one)] = self._root(other)

    def together(self, one: int, other: int) -> bool:
        """Whether links lead from one to the other."""
        return self._root(one) == self._root(other)

    def all(self) -> Sequence[Sequence[int]]:
        """Those of two or more, each in order, by their first ones."""
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for parent in sorted(self._parents):
            groups[self._root(parent)].append(parent)
        return sorted(members for members in groups.values() if len(members) > 1)

    def _root(self, number: int) -> int:
        path = []
        while (parent := self._parents.setdefault(number, number)) != number:
            path.append(number)
            number = parent
        for one in path:
            self._parents[one] = number
        return number
