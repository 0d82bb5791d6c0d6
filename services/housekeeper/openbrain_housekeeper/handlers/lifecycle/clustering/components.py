"""Connected components (union-find)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T", int, str)


class Components(Generic[T]):
    """Connected components that grow with every link."""

    def __init__(self) -> None:
        self._parents: dict[T, T] = {}

    def join(self, one: T, other: T) -> None:
        self._parents[self._root(one)] = self._root(other)

    def together(self, one: T, other: T) -> bool:
        """True if links lead from one to the other."""
        return self._root(one) == self._root(other)

    def all(self) -> Sequence[Sequence[T]]:
        """Components of two or more members, each sorted, ordered by their first member."""
        groups: defaultdict[T, list[T]] = defaultdict(list)
        for member in sorted(self._parents):
            groups[self._root(member)].append(member)
        return sorted(members for members in groups.values() if len(members) > 1)

    def _root(self, member: T) -> T:
        path = []
        while (parent := self._parents.setdefault(member, member)) != member:
            path.append(member)
            member = parent
        for one in path:
            self._parents[one] = member
        return member
