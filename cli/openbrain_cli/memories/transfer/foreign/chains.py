"""Supersedes links between the rows of a table, without links to missing rows and without cycles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Chains:
    """Valid links, child id to parent id."""

    parents: Mapping[str, str]
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Time at which a row was superseded, by its id."""
    circular: frozenset[str] = frozenset()
    """Ids of rows whose link was dropped because it closed a cycle."""
    missing: frozenset[str] = frozenset()
    """Ids of rows whose link was dropped because the parent is not in the table."""


def chains(links: Mapping[str, str], created: Mapping[str, str]) -> Chains:
    """Resolve links. In a cycle the oldest row loses its link: a row can't supersede a newer one."""
    missing = frozenset(child for child, parent in links.items() if parent not in created)
    parents = {child: parent for child, parent in links.items() if child not in missing}
    circular = frozenset(min(circle, key=lambda item: (created[item], item)) for circle in _circles(parents))
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
