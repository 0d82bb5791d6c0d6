"""The life of memories (age, duplicates, filing): the part of the store that lifecycle operations use.

A job (`prune`, …) reads subjects and decides changes from the rows alone; that is a dry run. To apply them it decides
again on the same rows, now locked, in the transaction that writes. Each change is stored with the state before it,
under the operation's id, for as long as it can be undone.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from openbrain.domain.access.visibility import AllOf, AtLeast, Criteria, everything
from openbrain.domain.memory import Memory
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.writes import ExpectedVersions

PRUNE = "prune"
DEDUPE = "dedupe"
CONSOLIDATE = "consolidate"
CLEAN = "clean"
REFILE = "refile"
BACKFILL_ORG = "backfill-org"
UNDO = "undo"
JOBS: Mapping[str, bool] = {
    PRUNE: True,
    DEDUPE: True,
    CONSOLIDATE: True,
    REFILE: True,
    BACKFILL_ORG: True,
    CLEAN: False,
}
"""The kinds of lifecycle operations, and whether `UNDO` can revert them."""


PINNED = "pinned"
"""Jobs that can be undone leave memories with this tag unchanged."""


class Action(StrEnum):
    """What was done to a memory."""

    ARCHIVED = "archived"
    REWRITTEN = "rewritten"
    CLEANED = "cleaned"
    """Not revertible: the old text is not kept."""


class Use(NamedTuple):
    recalls: int = 0
    last_recalled_at: int | None = None
    used: int = 0
    ignored: int = 0


class Subject(NamedTuple):
    """A living memory that a job examines."""

    memory: Memory
    use: Use = Use()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A job's decision about one memory. An operation changes each memory once."""

    memory_id: str
    action: Action
    why: str
    """The reason, for people: numbers and names of rules, never contents of memories."""
    into: str | None = None
    """For archived: the memory that replaces this one and gets it as a parent. If that one can't be rewritten as
    decided, this change is not made either."""
    after: Memory | None = None
    """For rewritten: the new values of the fields that users set; the store sets the rest of the row."""
    use: Use | None = None
    """For rewritten: the use counts of this memory and of those it replaces."""


Decide = Callable[[Sequence[Subject]], Sequence[Change]]
"""A pure function. The same subjects give the same changes. If some changed meanwhile and are missing, it decides anew
on the rest."""

Place = tuple[int, str]
"""created_at and id of the last subject of a page."""


class Partition(NamedTuple):
    """Project and visibility of memories. Only memories of the same partition may be compared."""

    project: str
    memory_scope: str
    type: str
    org: str
    audience: str

    @classmethod
    def of(cls, memory: Memory) -> "Partition":
        return cls(memory.project, memory.memory_scope.value, memory.type.value, memory.org, memory.audience)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The memories an operation is about: living, of one workspace, of any agent."""

    workspace_id: str
    criteria: Criteria
    at: int
    """The time of the request (microseconds). Memories that expire by then are left to expiry."""
    made_by: int
    """Only memories created and last confirmed at this time or before."""

    def condition(self) -> AllOf:
        """The condition, without `made_by`."""
        return AllOf((everything(self.workspace_id, self.criteria), AtLeast("expires_at", self.at + 1)))


class GroupResult(NamedTuple):
    """Outcome for a group of subjects."""

    changes: Sequence[Change]
    held: int
    """The number kept by a legal hold or a pin; these were not decided on."""
    conflicts: int = 0
    """Changes that can't be made: a living memory has the same content in that place, or the workspace is full."""


class Undone(StrEnum):
    """Outcome of undoing one change."""

    UNDONE = "undone"
    TAKEN = "taken"
    """A living memory has the same content in the same place."""
    CHANGED = "changed"
    """It was changed, restored, forgotten or erased since."""
    FULL = "full"
    """The workspace's quota does not allow it."""


ChangePlace = tuple[Action, str]
"""Action and memory of the last change of a page."""


class Lifecycle(Protocol):
    """Subjects of jobs, their changes, and undo."""

    async def count(self, selection: Selection) -> int: ...

    async def page(self, selection: Selection, limit: int, after: Place | None) -> Sequence[Subject]:
        """List subjects, oldest first. `after`: cursor of the previous page."""

    async def partitions(self, selection: Selection, after: Partition | None) -> Sequence[tuple[Partition, int]]:
        """List partitions that contain selected memories, with their counts: those of the next project and scope behind
        `after`, in the store's order. Empty at the end."""

    async def members(
        self, selection: Selection, first: Partition, last: Partition, limit: int, after: Place | None
    ) -> Sequence[Memory]:
        """List memories of all partitions from `first` to `last`, which share project and scope, oldest first. `after`:
        cursor of the previous page."""

    async def look(
        self, selection: Selection, groups: Sequence[Sequence[str]], decide: Decide
    ) -> Sequence[GroupResult]:
        """Preview `apply` on one group after the other. Does not predict a full workspace."""

    async def apply(
        self, operation: Operation, selection: Selection, ids: Sequence[str], decide: Decide
    ) -> GroupResult:
        """Decide on those of `ids` that are still living and selected, and apply the changes, in one transaction.
        Nothing changes if the operation is no longer running: a late call of a worker that was given up has no
        effect."""

    async def orgs(self, workspace_id: str, projects: Collection[str]) -> Mapping[str, Collection[str]]:
        """Return the orgs of the living memories of each of these projects."""

    async def counts(self, operation_id: str) -> Mapping[Action, int]: ...

    async def first(self, operation_id: str, limit: int) -> Sequence[Change]:
        """Return the operation's first changes, without the rewritten contents."""

    async def undo(
        self, operation: Operation, of: str, limit: int, after: ChangePlace | None = None
    ) -> ChangePlace | None:
        """Revert at most `limit` changes of the operation `of`, each once: rewritten memories first, so that they don't
        block the return of archived ones. Return the cursor of the next call; None at the end."""

    async def undone(self, of: str) -> Mapping[Undone, int]: ...

    async def purge_changes(self, before: int, limit: int) -> int:
        """Delete what is needed to undo changes made before `before` (microseconds)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A job that runs on a schedule."""

    name: str
    kind: str
    schedule: str
    """A cron expression, in UTC."""
    request: Mapping[str, Any]
    """The request of the operation, as JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """A workspace's policies on the life of its memories."""

    workspace_id: str
    given: Mapping[str, Any]
    """The policies as an admin wrote them, as JSON values."""
    runs: Sequence[Run] = ()
    holds: Sequence[Criteria] = ()
    """Legal holds: no job, policy or retention removes the memories they match. A hold without limits matches
    everything."""
    retention: Mapping[str, int] = field(default_factory=dict)
    """Days by name, as in `ports.retention`."""
    actor: str = ""
    updated_at: int = 0

    @property
    def edition(self) -> str:
        """Another one after each change. Compared by `If-Match`."""
        return str(self.updated_at)


NO_EDITION = "0"
"""The edition of a workspace without a document."""


class Policies(Protocol):
    """One document per workspace."""

    async def document(self, workspace_id: str) -> PolicyDocument | None:
        """Return the document; None if the workspace has none."""

    async def set_document(self, document: PolicyDocument, expected: ExpectedVersions = None) -> PolicyDocument:
        """Replace the document. Return it as stored, with its time. Raise `Outdated` if another edition than those
        expected stands, unless it says the same."""

    async def documents(self, limit: int, after: str = "") -> Sequence[PolicyDocument]:
        """List the documents of all workspaces that have one, by workspace id, behind `after`."""


def kept(selection: Selection) -> Mapping[str, Any]:
    """The selection as JSON values for an operation's request; workspace and `at` are those of the operation."""
    return {"criteria": plain(selection.criteria), "older_than": selection.at - selection.made_by}


def plain(criteria: Criteria) -> dict[str, Any]:
    """The limits that are set, as JSON values for `Criteria.of`."""
    empty: tuple[Any, ...] = ("", ())
    given = asdict(criteria).items()
    return {name: value for name, value in given if value not in empty and value is not None and value is not False}


def selection_of(operation: Operation) -> Selection:
    request, at = operation.request, operation.created_at
    return Selection(
        workspace_id=operation.workspace_id,
        criteria=Criteria.of(request["criteria"]),
        at=at,
        made_by=at - int(request["older_than"]),
    )
