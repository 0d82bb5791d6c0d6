"""Plan of an import: compares found memories with stored ones. Pure; repeating an import plans no changes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from openbrain_cli.importers.found_memory import FoundMemory, Key, Note, Scan


class Action(StrEnum):
    CREATE = "create"
    SUPERSEDE = "supersede"
    REFILE = "refile"
    """The text is the same, but its type, tags or place changed."""
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    """Another section has the same text and the same readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """A live memory that an earlier import made."""

    id: str
    key: Key
    digest: str
    org: str
    project: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content_digest(self) -> str:
        """Digest of the text at the earlier import."""
        return self.digest.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Target:
    """The org and project that the user asked for. None means: as stored already, else as the file says."""

    org: str | None = None
    project: str | None = None

    def fits(self, existing: Existing) -> bool:
        """True if the stored memory is in the requested place."""
        return self.org in {None, existing.org} and self.project in {None, existing.project}

    def org_of(self, existing: Existing | None) -> str:
        """The org for a section; a stored memory stays in its org unless another was asked for."""
        if self.org is not None:
            return self.org
        return existing.org if existing else ""

    def project_of(self, memory: FoundMemory, existing: Existing | None) -> str:
        if self.project is not None:
            return self.project
        return existing.project if existing else memory.project


@dataclass(frozen=True, slots=True)
class Step:
    """One section and what to do with it."""

    action: Action
    found: FoundMemory
    existing: Existing | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything an import does, and what it reports."""

    steps: tuple[Step, ...]
    vanished: tuple[Existing, ...]
    notes: tuple[Note, ...]

    def of(self, *actions: Action) -> list[Step]:
        """The steps with these actions, in the order of the actions."""
        return [step for action in actions for step in self.steps if step.action is action]


def plan(scan: Scan, existing: Iterable[Existing], target: Target) -> Plan:
    """Match by identity and text, then by text alone (moved), then by identity alone (edited)."""
    sections, notes = _distinct(scan.found)
    pool = _Pool([item for item in existing if target.fits(item)])
    steps: dict[Key, Step] = {}
    for match in (pool.same, lambda item: pool.moved(item, target), pool.edited):
        _match(sections, steps, match)
    _add_new(sections, steps, target)
    vanished = tuple(old for old in pool.rest() if old.key not in steps and _looked_at(old.key, scan))
    return Plan(tuple(steps[section.key] for section in sections), vanished, (*scan.notes, *notes))


class _Pool:
    """Stored memories that have not been matched yet."""

    def __init__(self, existing: Sequence[Existing]) -> None:
        self._left = {item.id: item for item in existing}
        self._by_key: dict[Key, list[Existing]] = defaultdict(list)
        self._by_text: dict[str, list[Existing]] = defaultdict(list)
        for item in existing:
            self._by_key[item.key].append(item)
            self._by_text[item.content_digest].append(item)

    def same(self, memory: FoundMemory) -> Existing | None:
        return self._take(old for old in self._by_key[memory.key] if old.content_digest == memory.content_digest)

    def moved(self, memory: FoundMemory, target: Target) -> Existing | None:
        project = target.project_of(memory, None)
        return self._take(old for old in self._by_text[memory.content_digest] if old.project == project)

    def edited(self, memory: FoundMemory) -> Existing | None:
        return self._take(self._by_key[memory.key])

    def rest(self) -> Iterable[Existing]:
        return self._left.values()

    def _take(self, candidates: Iterable[Existing]) -> Existing | None:
        chosen = next((old for old in candidates if old.id in self._left), None)
        return None if chosen is None else self._left.pop(chosen.id)


def _match(
    sections: Sequence[FoundMemory], steps: dict[Key, Step], match: Callable[[FoundMemory], Existing | None]
) -> None:
    for section in sections:
        if section.key not in steps and (old := match(section)) is not None:
            steps[section.key] = Step(_action(section, old), section, old)


def _action(memory: FoundMemory, old: Existing) -> Action:
    if memory.content_digest != old.content_digest:
        return Action.SUPERSEDE
    return Action.UNCHANGED if (memory.key, memory.digest) == (old.key, old.digest) else Action.REFILE


def _add_new(sections: Sequence[FoundMemory], steps: dict[Key, Step], target: Target) -> None:
    def readers(step: Step) -> tuple[str, ...]:
        org, project = target.org_of(step.existing), target.project_of(step.found, step.existing)
        return step.found.content_digest, step.found.scope, org, project

    readers_known = {readers(step) for step in steps.values()}
    for section in sections:
        if section.key in steps:
            continue
        step = Step(Action.CREATE, section)
        steps[section.key] = Step(Action.DUPLICATE, section) if readers(step) in readers_known else step
        readers_known.add(readers(step))


def _distinct(memories: Iterable[FoundMemory]) -> tuple[list[FoundMemory], list[Note]]:
    """Keep the first memory of each identity: two checkouts of a repository have the same identities."""
    first: dict[Key, FoundMemory] = {}
    notes: list[Note] = []
    for item in memories:
        known = first.setdefault(item.key, item)
        if known.content_digest != item.content_digest:
            notes.append(Note(item.path, "skipped: another copy with different content is imported"))
    return list(first.values()), list(dict.fromkeys(notes))


def _looked_at(key: Key, scan: Scan) -> bool:
    """True if the scan would have found the section if it still existed."""
    client, path, _ = key
    if (client, path) in scan.unread:
        return False
    places = [location for whose, location in scan.covered if whose == client]
    return path in places or any(location.endswith("/") and path.startswith(location) for location in places)
