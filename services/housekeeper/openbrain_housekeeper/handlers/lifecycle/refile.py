"""Jobs `refile` and `backfill-org`: move memories to another org, project or scope. A memory whose content exists at
the target already is a conflict, and is not moved."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from openbrain.domain.caches import Lru
from openbrain.domain.memory import Memory, Scope
from openbrain.ports.lifecycle import Action, Change, Decide, Lifecycle, Selection, Subject
from openbrain.ports.store.operations import Operation
from openbrain_housekeeper.handlers.lifecycle.job import Found, found_in, next_page

UNDECIDED = "undecided"
"""Key in the report: projects for which no single org is known."""
_REMEMBERED = 8
"""Number of operations whose orgs are cached."""
_TO = "to_"


def refile(operation: Operation) -> Decide:
    """Move everything selected to the place that the rule names."""
    rule: Mapping[str, Any] = operation.request["rule"]
    place = {name.removeprefix(_TO): value for name, value in rule.items()}
    if "memory_scope" in place:
        place["memory_scope"] = Scope(place["memory_scope"])
    return _moving(lambda _: place)


class BackfillOrg:
    """Gives memories with a project but no org an org: the rule's for the project, else the only one that other
    memories of the project have, else the rule's default."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle
        self._orgs: Lru[str, dict[str, Collection[str]]] = Lru(_REMEMBERED)

    async def find(self, operation: Operation, selection: Selection, cursor: Any) -> Found:
        page = await next_page(self._lifecycle, selection, cursor)
        projects = {memory.project for memory, _ in page if memory.project and not memory.org}
        known = self._orgs.recent(operation.id) or {}
        if new := projects - known.keys():
            known = {**known, **await self._lifecycle.orgs(selection.workspace_id, new)}
        self._orgs[operation.id] = known
        undecided = sorted(project for project in projects if not self._org(operation, project))
        return replace(found_in(page, self.decide(operation)), noted={UNDECIDED: undecided} if undecided else {})

    def decide(self, operation: Operation) -> Decide:
        def place(memory: Memory) -> Mapping[str, Any]:
            org = "" if memory.org or not memory.project else self._org(operation, memory.project)
            return {"org": org} if org else {}

        return _moving(place)

    def _org(self, operation: Operation, project: str) -> str:
        rule = operation.request["rule"]
        known = (self._orgs.get(operation.id) or {}).get(project, ())
        named: str | None = rule.get("orgs", {}).get(project)
        return named or (next(iter(known)) if len(known) == 1 else rule.get("to_org", ""))


def _moving(place_of: Callable[[Memory], Mapping[str, Any]]) -> Decide:
    def decide(subjects: Sequence[Subject]) -> Sequence[Change]:
        return [
            Change(memory_id=memory.id, action=Action.REWRITTEN, why=_why(memory, after), after=after)
            for memory, _ in subjects
            if (after := memory._replace(**place_of(memory))) != memory and not _seen_by_nobody(after)
        ]

    return decide


def _seen_by_nobody(memory: Memory) -> bool:
    return memory.memory_scope is Scope.AGENT and not memory.agent_id


def _why(before: Memory, after: Memory) -> str:
    names = ("org", "project", "memory_scope", "agent_id")
    moved = [name for name in names if getattr(before, name) != getattr(after, name)]
    return ", ".join(f"to {name} {getattr(after, name) or 'none'}" for name in moved)
