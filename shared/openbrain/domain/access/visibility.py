"""Visibility: one predicate, built here once and compiled by every adapter (SQL, text, vectors).

A predicate is a small tree of the nodes below over the named fields of an index entry. Adapters translate the nodes one
to one and make no decision about visibility.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.access.metadata_pairs import metadata_pairs
from openbrain.domain.memory import Memory, MemoryType, Scope, audience
from openbrain.domain.text.spelling import spellings

KEYWORD_FIELDS = ("workspace_id", "org", "project", "agent_id", "memory_scope", "audience", "type", "tags", "source")
NUMBER_FIELDS = ("confidence", "occurred_at", "expires_at")
DECIDING = ("org", "agent_id", "memory_scope")
"""Fields of a memory that an edit may change and that decide who sees it."""
NEVER = 2**53 - 1
"""`expires_at` of a memory that never expires, in microseconds: the largest integer that every index stores exactly."""


@dataclass(frozen=True, slots=True)
class Equals:
    """field == value; for `tags` and `metadata_pairs`, one of its values equals value."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """field is one of values; for `tags` and `metadata_pairs`, at least one value is shared. Empty values match
    nothing."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """field >= value."""

    field: str
    value: float


@dataclass(frozen=True, slots=True)
class LessThan:
    """field < value."""

    field: str
    value: float


@dataclass(frozen=True, slots=True)
class Says:
    """One of its texts contains this, ignoring case; in the database, also a text of its history. Indexes can't
    evaluate it."""

    text: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of conditions."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of conditions."""

    conditions: tuple["Condition", ...]


Condition = Equals | OneOf | AtLeast | LessThan | Says | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Viewer:
    """The reader, from the credential alone (the session from the request)."""

    workspace_id: str
    agent_id: str
    orgs: tuple[str, ...] | None = None
    """The key's orgs; None for all."""
    without_org: bool = True
    """True if a key limited to orgs also sees memories without an org."""
    session_id: str = ""
    session_agents: tuple[str, ...] = ()
    """The agents of that session, if this agent is a member according to the database. They see each other's memories
    of the session."""

    def sees_org(self, org: str) -> bool:
        """True if the viewer sees this org; '' stands for memories without an org."""
        return self.orgs is None or org in self.orgs or (not org and self.without_org)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Filters of a request, applied within what the viewer may see. Empty means no restriction; times are
    microseconds."""

    org: str = ""
    project: str = ""
    only_project: bool = False
    """For browsing: exactly this project. Otherwise memories without a project and shared ones are included."""
    types: tuple[MemoryType, ...] = ()
    scopes: tuple[Scope, ...] = ()
    tags: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    """Pairs as in `metadata_pairs`; all must be present."""
    min_confidence: float | None = None
    max_confidence: float | None = None
    since: int | None = None
    until: int | None = None
    speakers: tuple[str, ...] = ()
    says: str = ""
    """The text of `Says`. This and `speakers` only work on the database: for exports and for ending memories."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Build from JSON members. Raise `KeyError`, `TypeError` or `ValueError` for invalid ones."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
        }
        values["types"] = tuple(MemoryType(item) for item in values.get("types", ()))
        values["scopes"] = tuple(Scope(item) for item in values.get("scopes", ()))
        return cls(**values)


def visible(viewer: Viewer, criteria: Criteria, now: int) -> AllOf:
    """The predicate of every read: tenant, org, audience, expiry, then the request's filters."""
    conditions: list[Condition] = [Equals("workspace_id", viewer.workspace_id)]
    if viewer.orgs is not None:
        conditions.append(OneOf("org", viewer.orgs + (("",) if viewer.without_org else ())))
    conditions.append(OneOf("audience", _audiences(viewer)))
    conditions.append(AtLeast("expires_at", now + 1))
    conditions.extend(_matches(criteria))
    return AllOf(tuple(conditions))


def everything(workspace_id: str, criteria: Criteria) -> AllOf:
    """Everything of a workspace, of every org and agent, expired or not, narrowed by the criteria. For exports by an
    admin."""
    return AllOf((Equals("workspace_id", workspace_id), *_matches(criteria)))


def workspace_of(condition: Condition) -> str:
    """Return the only workspace that a predicate of `visible` or `everything` admits."""
    parts = condition.conditions if isinstance(condition, AllOf) else ()
    for part in parts:
        if isinstance(part, Equals) and part.field == "workspace_id":
            return part.value
    raise ValueError("this predicate is not limited to one workspace")


def _audiences(viewer: Viewer) -> tuple[str, ...]:
    audiences = [audience(Scope.SHARED, "", "")]
    if viewer.agent_id:
        audiences.append(audience(Scope.AGENT, viewer.agent_id, ""))
        if viewer.session_id:
            of_it = dict.fromkeys((viewer.agent_id, *viewer.session_agents))
            audiences += [audience(Scope.SESSION, agent_id, viewer.session_id) for agent_id in of_it]
    return tuple(audiences)


def _matches(criteria: Criteria) -> Sequence[Condition]:
    conditions: list[Condition] = []
    if criteria.org:
        conditions.append(Equals("org", criteria.org))
    if criteria.project:
        conditions.append(_project(criteria.project, exactly=criteria.only_project))
    for field, values in (
        ("type", criteria.types),
        ("memory_scope", criteria.scopes),
        ("tags", tuple(form for tag in criteria.tags for form in spellings(tag))),
        ("agent_id", criteria.agents),
        ("source", criteria.sources),
        ("speaker", criteria.speakers),
    ):
        if values:
            conditions.append(OneOf(field, tuple(str(value) for value in values)))
    conditions.extend(Equals(METADATA_PAIRS, pair) for pair in criteria.metadata)
    if criteria.min_confidence is not None:
        conditions.append(AtLeast("confidence", criteria.min_confidence))
    if criteria.max_confidence is not None:
        conditions.append(LessThan("confidence", math.nextafter(criteria.max_confidence, math.inf)))
    if criteria.since is not None:
        conditions.append(AtLeast("occurred_at", criteria.since))
    if criteria.until is not None:
        conditions.append(LessThan("occurred_at", criteria.until))
    if criteria.says:
        conditions.append(AnyOf(tuple(map(Says, spellings(criteria.says)))))
    return conditions


def _project(project: str, *, exactly: bool) -> Condition:
    this = Equals("project", project)
    if exactly:
        return this
    return AnyOf((this, Equals("project", ""), Equals("memory_scope", Scope.SHARED)))


def matches(condition: Condition, memory: Memory) -> bool:
    """True if the row matches the condition. Used for reads by id."""
    return matcher(condition)(memory)


def matcher(condition: Condition) -> Callable[[Memory], bool]:
    """`matches` compiled for many rows: the tree is walked once."""
    match condition:
        case AllOf(conditions):
            return _every([matcher(item) for item in conditions])
        case AnyOf(conditions):
            return _some([matcher(item) for item in conditions])
        case Says(text):
            wanted = text.lower()
            return lambda memory: any(wanted in part.lower() for part in _texts(memory))
        case Equals("tags", value):
            return lambda memory: value in memory.tags
        case OneOf("tags", values):
            return lambda memory: not set(values).isdisjoint(memory.tags)
        case Equals("metadata_pairs", value):
            return lambda memory: value in metadata_pairs(memory.metadata)
        case OneOf("metadata_pairs", values):
            return lambda memory: not set(values).isdisjoint(metadata_pairs(memory.metadata))
        case Equals(field, value):
            return lambda memory: bool(getattr(memory, field) == value)
        case OneOf(field, values):
            return lambda memory: getattr(memory, field) in values
        case AtLeast(field, bound):
            return lambda memory: _number(memory, field) >= bound
        case LessThan(field, bound):
            return lambda memory: _number(memory, field) < bound


# Plain loops: `all` and `any` over a generator take twice as long, and these run for every row.
def _every(matchers: Sequence[Callable[[Memory], bool]]) -> Callable[[Memory], bool]:
    def holds(memory: Memory) -> bool:
        for item in matchers:  # noqa: SIM110
            if not item(memory):
                return False
        return True

    return holds


def _some(matchers: Sequence[Callable[[Memory], bool]]) -> Callable[[Memory], bool]:
    def holds(memory: Memory) -> bool:
        for item in matchers:  # noqa: SIM110
            if item(memory):
                return True
        return False

    return holds


def _texts(memory: Memory) -> Iterator[str]:
    yield from (memory.content, memory.title, memory.source, memory.speaker, *memory.aliases, *memory.tags)
    yield from _texts_in(memory.metadata)


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield str(name)
            yield from _texts_in(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts_in(part)


def _number(memory: Memory, field: str) -> float:
    value = getattr(memory, field)
    return NEVER if value is None else value
