"""What hangs together by links between two."""

from collections import defaultdict
from collections.abc import Sequence


class Components:
    """Connected components that grow with every link."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def join(self, one: int, other: int) -> None:
        """Link two."""
        self._parents[self._root(one)] = self._root(other)

    def together(self, one: int, other: int) -> bool:
        """Whether links lead from one to the other."""
        return self._root(one) == self._root(other)

    def all(self) -> Sequence[Sequence[int]]:
        """Those of two or more, each in order, by their first ones."""
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for each in sorted(self._parents):
            groups[self._root(each)].append(each)
        return sorted(members for members in groups.values() if len(members) > 1)

    def _root(self, each: int) -> int:
        path = []
        while (parent := self._parents.setdefault(each, each)) != each:
            path.append(each)
            each = parent
        for one in path:
            self._parents[one] = each
        return each
