"""The steps common to all lifecycle operations: what a job finds is previewed (dry run) or changed, group by group.

To add a job, write a class with `find` and `decide` in its own file, or a rule for `RowByRow`. Add its kind to
`ports.lifecycle.JOBS` and `wiring.lifecycle`, and a route that starts an operation whose request holds
`kept(selection)`, the job's `rule` and `dry_run`. Progress, report, resuming, holds, history, undo and the final event
are handled here and in the store.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from openbrain.domain.events.data import LifecycleCompleted
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import LIFECYCLE_COMPLETED
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import Change, Decide, GroupResult, Lifecycle, Selection, Subject, selection_of
from openbrain.ports.store.operations import Operation, Operations, Progress
from openbrain.ports.store.outbox import Outbox

PAGE = 20
"""Maximum memories per step, and changes per transaction: few, so that live writes wait only briefly."""
EXAMPLES = 20
CURSOR, EXAMPLE_LIST = "cursor", "examples"


@dataclass(frozen=True, slots=True)
class Found:
    """Groups found by one step, and the cursor of the next."""

    groups: Sequence[Sequence[str]]
    """Ids decided on together, in one transaction. No memory is in two groups of an operation."""
    seen: int
    """Number of memories looked at."""
    cursor: Any
    """Where the next step continues, a JSON value; None at the end."""
    noted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Values to add to lists of the report, by list. Each value is listed once, at most `EXAMPLES` per list."""


class Job(Protocol):
    """One kind of lifecycle operation."""

    async def find(self, operation: Operation, selection: Selection, cursor: Any) -> Found:
        """The groups after the cursor (None: the first). Called again with the same cursor after a crash."""

    def decide(self, operation: Operation) -> Decide:
        """Decide by the operation's rule and the time of its request, never by the current time."""


class RowByRow:
    """A job that decides on each memory separately."""

    def __init__(self, lifecycle: Lifecycle, rule: Callable[[Operation], Decide]) -> None:
        self._lifecycle, self.decide = lifecycle, rule

    async def find(self, operation: Operation, selection: Selection, cursor: Any) -> Found:
        subjects = await next_page(self._lifecycle, selection, cursor)
        return found_in(subjects, self.decide(operation))


async def next_page(lifecycle: Lifecycle, selection: Selection, cursor: Any) -> Sequence[Subject]:
    """The page after the cursor, for `found_in`."""
    return await lifecycle.page(selection, PAGE, None if cursor is None else (int(cursor[0]), str(cursor[1])))


def found_in(page: Sequence[Subject], decide: Decide) -> Found:
    """The memories of a page that `decide` changes, as one group."""
    ids = [change.memory_id for change in decide(page)]
    last = page[-1].memory if len(page) == PAGE else None
    return Found([ids] if ids else [], len(page), None if last is None else [last.created_at, last.id])


class LifecycleStep:
    """Runs one step of a job's operation."""

    def __init__(self, job: Job, lifecycle: Lifecycle, operations: Operations, outbox: Outbox, clock: Clock) -> None:
        self._job, self._lifecycle, self._operations = job, lifecycle, operations
        self._outbox, self._clock = outbox, clock

    async def __call__(self, operation: Operation) -> Progress:
        """`done` counts the memories looked at; the result counts the changes by action."""
        selection, report = selection_of(operation), operation.result
        if operation.total is None:
            operation = replace(operation, total=await self._lifecycle.count(selection))
        batch = await self._job.find(operation, selection, report.get(CURSOR))
        report = _with_noted(report, batch.noted)
        for result in await self._results(operation, selection, batch.groups):
            report = _with_result(report, result)
        done = operation.done + batch.seen
        if batch.cursor is not None:
            return Progress(done=done, total=operation.total, result={**report, CURSOR: batch.cursor})
        if not operation.request["dry_run"] and not await self._operations.runs(operation):
            return overtaken(operation)
        report = await self._ended(operation, report)
        return Progress(done=done, total=done, result=report, finished=True)

    async def _results(
        self, operation: Operation, selection: Selection, groups: Sequence[Sequence[str]]
    ) -> Sequence[GroupResult]:
        decide = self._job.decide(operation)
        if not groups:
            return ()
        if operation.request["dry_run"]:
            return await self._lifecycle.look(selection, groups, decide)
        return [await self._lifecycle.apply(operation, selection, group, decide) for group in groups]

    async def _ended(self, operation: Operation, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """The final report, with counts from the store: they include what a killed worker did but did not record."""
        report = {name: value for name, value in report.items() if name != CURSOR}
        if operation.request["dry_run"]:
            return {EXAMPLE_LIST: [], **report}
        counts = {action.value: number for action, number in (await self._lifecycle.counts(operation.id)).items()}
        first = await self._lifecycle.first(operation.id, EXAMPLES)
        await announce_end(self._outbox, operation, counts, self._clock.now())
        return {**report, **counts, EXAMPLE_LIST: [*map(_shown, first)]}


def overtaken(operation: Operation) -> Progress:
    """The progress of a last step that may have changed nothing, because the operation is to be cancelled: not done.
    The worker ends it next."""
    return Progress(done=operation.done, total=operation.total, result=operation.result, waits=True)


async def announce_end(outbox: Outbox, operation: Operation, counts: Mapping[str, int], now: int) -> None:
    """Announce the end. The event id is derived, so a repeated step announces the same event."""
    criteria = operation.request.get("criteria", {})
    data = LifecycleCompleted(
        workspace_id=operation.workspace_id,
        operation_id=operation.id,
        job=operation.kind,
        org=criteria.get("org"),
        project=criteria.get("project"),
        counts=dict(counts),
        seconds=round((now - operation.created_at) / MICROSECONDS, 3),
    )
    event_id = str(uuid.uuid5(uuid.UUID(operation.id), LIFECYCLE_COMPLETED.name))
    body = encode(LIFECYCLE_COMPLETED.name, data, event_id=event_id, at=now, subject=operation.id)
    await outbox.announce([(LIFECYCLE_COMPLETED.name, body)])


def _with_noted(report: Mapping[str, Any], noted: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    lists = {name: list(dict.fromkeys((*report.get(name, ()), *names)))[:EXAMPLES] for name, names in noted.items()}
    return {**report, **lists}


def _with_result(report: Mapping[str, Any], result: GroupResult) -> Mapping[str, Any]:
    counted = dict(report)
    for name, number in (("held", result.held), ("conflicts", result.conflicts)):
        if number:
            counted[name] = counted.get(name, 0) + number
    for change in result.changes:
        counted[change.action.value] = counted.get(change.action.value, 0) + 1
    room = EXAMPLES - len(counted.get(EXAMPLE_LIST, ()))
    return {**counted, EXAMPLE_LIST: [*counted.get(EXAMPLE_LIST, ()), *map(_shown, result.changes[:room])]}


def _shown(change: Change) -> dict[str, str]:
    into = {"into": change.into} if change.into else {}
    return {"id": change.memory_id, "action": change.action.value, "why": change.why, **into}
