"""The life of memories (age, duplicates, filing): the part of the store that lifecycle operations work with.

A job (`prune`, …) looks at subjects and decides changes, by the rows alone: that is a dry run. What it then does is the
same decision once more, on the same rows under lock, in the transaction that writes them. Every change is kept with
what stood before, under the operation's id, until it can't be undone any more.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from openbrain.domain.access.visibility import AllOf, AtLeast, Criteria, everything
from openbrain.domain.memory import Memory
from openbrain.ports.store.operations import Operation

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
"""The kinds of lifecycle operations, and whether `UNDO` takes them back."""


PINNED = "pinned"
"""A memory with this tag is left as it is by every job that can be undone."""


class Action(StrEnum):
    """Kind of change of one memory."""

    ARCHIVED = "archived"
    REWRITTEN = "rewritten"
    CLEANED = "cleaned"
    """The former text is kept nowhere, so that nothing takes it back."""


class Use(NamedTuple):
    recalls: int = 0
    last_recalled_at: int | None = None
    used: int = 0
    ignored: int = 0


class Subject(NamedTuple):
    """A living memory that a job looks at."""

    memory: Memory
    use: Use = Use()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Decision of a job about one memory. An operation changes each memory once."""

    memory_id: str
    action: Action
    why: str
    """For people, without anything that memories say: numbers, and names of rules."""
    into: str | None = None
    """Archived: the memory that stands for it now, and gets it as a parent. Where that one can't be rewritten as
    decided, this is not done either."""
    after: Memory | None = None
    """Rewritten: what users give, as it is to be; the rest of the row is the store's."""
    use: Use | None = None
    """Rewritten: its use and that of what it stands for."""


Decide = Callable[[Sequence[Subject]], Sequence[Change]]
"""A pure function: of the same subjects the same changes, of fewer (some were changed meanwhile) what is right then."""

Place = tuple[int, str]
"""created_at and id of the last subject of a page."""


class Partition(NamedTuple):
    """A place and a visibility of memories: those of one partition of a workspace may be compared."""

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
    """The memories that an operation is about: living ones of one workspace, of any agent."""

    workspace_id: str
    criteria: Criteria
    at: int
    """The time of the request (microseconds): what has expired by then is left to expiry."""
    made_by: int
    """Created and last confirmed then, or before."""

    def condition(self) -> AllOf:
        """Without `made_by`."""
        return AllOf((everything(self.workspace_id, self.criteria), AtLeast("expires_at", self.at + 1)))


class GroupResult(NamedTuple):
    """Outcome for a group of subjects."""

    changes: Sequence[Change]
    held: int
    """The number kept by a legal hold, or a pin: they were not decided on."""
    conflicts: int = 0
    """Number of changes that can't be made: a living memory says the same in that place, or the workspace is full."""


class Undone(StrEnum):
    """Outcome of undoing one change."""

    UNDONE = "undone"
    TAKEN = "taken"
    """A living memory says the same in the same place."""
    CHANGED = "changed"
    """Somebody changed, restored, forgot or erased it since."""
    FULL = "full"
    """The workspace's quota has no room for it."""


ChangePlace = tuple[Action, str]
"""Action and memory of the last change of a page."""


class Lifecycle(Protocol):
    """Subjects of jobs, their changes, and the way back."""

    async def count(self, selection: Selection) -> int: ...

    async def page(self, selection: Selection, limit: int, after: Place | None) -> Sequence[Subject]:
        """Oldest first; `after` lists those that follow."""

    async def partitions(self, selection: Selection, after: Partition | None) -> Sequence[tuple[Partition, int]]:
        """Partitions that hold some of the selection, and how many: those of the next project and scope that follow
        `after` in the store's order. None at the end."""

    async def members(
        self, selection: Selection, first: Partition, last: Partition, limit: int, after: Place | None
    ) -> Sequence[Memory]:
        """Memories of all partitions from the first to the last, of one project and scope, oldest first; `after` lists
        those that follow."""

    async def look(
        self, selection: Selection, groups: Sequence[Sequence[str]], decide: Decide
    ) -> Sequence[GroupResult]:
        """Preview of `apply` to one group after the other; a full workspace is not foreseen."""

    async def apply(
        self, operation: Operation, selection: Selection, ids: Sequence[str], decide: Decide
    ) -> GroupResult:
        """Decide about those of these that still live and are of the selection, and do it, in one transaction. Nothing
        where the operation does not run any more: what comes late from a worker that was given up changes nothing."""

    async def orgs(self, workspace_id: str, projects: Collection[str]) -> Mapping[str, Collection[str]]:
        """Orgs of the living memories of these projects; none where all are of no org."""

    async def counts(self, operation_id: str) -> Mapping[Action, int]: ...

    async def first(self, operation_id: str, limit: int) -> Sequence[Change]:
        """The first of its changes, without what was rewritten."""

    async def undo(
        self, operation: Operation, of: str, limit: int, after: ChangePlace | None = None
    ) -> ChangePlace | None:
        """Take back at most `limit` changes of the operation `of`, each once: first what was rewritten, so that nothing
        stands in the way of what was archived. Where the next ones follow; None at the end."""

    async def undone(self, of: str) -> Mapping[Undone, int]: ...

    async def purge_changes(self, before: int, limit: int) -> int:
        """Forget how to undo what was done before that time (microseconds)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A job that is to be done again and again."""

    name: str
    kind: str
    schedule: str
    """A cron expression, in UTC."""
    request: Mapping[str, Any]
    """Of the operation, as JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """A workspace's policies on the life of its memories."""

    workspace_id: str
    given: Mapping[str, Any]
    """The policies as an admin wrote them, as JSON values."""
    runs: Sequence[Run] = ()
    holds: Sequence[Criteria] = ()
    """Legal holds: what they are about leaves by no job, policy or retention. One without limits holds everything."""
    retention: Mapping[str, int] = field(default_factory=dict)
    """Days by name, of `ports.retention`."""
    actor: str = ""
    updated_at: int = 0


class Policies(Protocol):
    """One document a workspace."""

    async def document(self, workspace_id: str) -> PolicyDocument | None:
        """None where nothing was decided."""

    async def set_document(self, document: PolicyDocument) -> PolicyDocument:
        """Instead of the one before; as it stands now, with its time."""

    async def documents(self, limit: int, after: str = "") -> Sequence[PolicyDocument]:
        """Of every workspace that has one, by their ids; what follows `after`."""


def kept(selection: Selection) -> Mapping[str, Any]:
    """For the request of an operation, as JSON values; its workspace and `at` are the operation's."""
    return {"criteria": plain(selection.criteria), "older_than": selection.at - selection.made_by}


def plain(criteria: Criteria) -> dict[str, Any]:
    """The limits as JSON values, for `Criteria.of`."""
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
