"""Who took whose place in a table: links to rows that are not there, and links that go round, are left out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Chains:
    """The links that hold, by id."""

    parents: Mapping[str, str]
    replaced: Mapping[str, str] = field(default_factory=dict)
    """When a row's place was taken, by the row's id."""
    circular: frozenset[str] = frozenset()
    """Whose link would have closed a circle."""
    missing: frozenset[str] = frozenset()
    """Whose link names a row that is not there."""


def chains(links: Mapping[str, str], created: Mapping[str, str]) -> Chains:
    """Of each circle the oldest row loses its link: nothing takes the place of what is newer than itself."""
    missing = frozenset(child for child, parent in links.items() if parent not in created)
    parents = {child: parent for child, parent in links.items() if child not in missing}
    circular = frozenset(min(circle, key=lambda each: (created[each], each)) for circle in _circles(parents))
    kept = {child: parent for child, parent in parents.items() if child not in circular}
    replaced: dict[str, str] = {}
    for child, parent in kept.items():
        replaced[parent] = min(created[child], replaced.get(parent, created[child]))
    return Chains(kept, replaced, circular, missing)


def _circles(parents: Mapping[str, str]) -> Iterator[list[str]]:
    seen: set[str] = set()
    for start in parents:
        path: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in seen and at not in path:
            path[at] = None
            at = parents.get(at)
        if at is not None and at in path:
            way = list(path)
            yield way[way.index(at) :]
        seen.update(path)
