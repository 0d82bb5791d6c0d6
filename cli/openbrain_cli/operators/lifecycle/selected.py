"""Options and report that the lifecycle commands share."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.operators.operations import failed, followed
from openbrain_cli.options import AsJson, Connection, Kinds, Org, Project, Sources, Tags, given, refuse_empty
from openbrain_cli.output import say, show, table

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.lifecycle import LifecycleStarted
    from openbrain.contract.admin.operations import OperationAnswer

Authors = Annotated[list[str] | None, typer.Option("--agent", help="Only what this agent wrote; repeatable.")]
OlderThan = Annotated[
    str | None,
    typer.Option("--older-than", metavar="DAYS", help="Made and last confirmed this long ago, such as 90d or 12w."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it. Without it, only show what would be done.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done, even with --yes.")]
Detach = Annotated[bool, typer.Option("--detach", help="Start it, and do not wait for its end.")]
_SPAN = re.compile(r"(?P<number>[0-9]{1,5})(?P<unit>[dwy]?)")
_DAYS = {"": 1, "d": 1, "w": 7, "y": 365}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Filters of a job: a memory must match all that are given."""

    org: Org = None
    project: Project = None
    type: Kinds = None
    agent_id: Authors = None
    tags: Tags = None
    source: Sources = None
    older_than: OlderThan = None

    def filters(self) -> dict[str, Any]:
        """The filters for the client. The environment's org is not used: what is removed must be named explicitly."""
        refuse_empty(org=self.org, project=self.project)
        named = asdict(self)
        span = named.pop("older_than")
        return given(**named, older_than_days=days("--older-than", span) if span is not None else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How a job runs: dry or not, waiting or not, and its output."""

    dry_run: DryRun = False
    yes: Yes = False
    detach: Detach = False
    json: AsJson = False

    @property
    def looks(self) -> bool:
        """True if nothing is to be changed."""
        return self.dry_run or not self.yes


def days(option: str, text: str) -> int:
    """Convert 90, 90d, 12w or 1y to days."""
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        raise Invalid(option, "must be a number of days, weeks or years: 90d, 12w, 1y")
    return int(match["number"]) * _DAYS[match["unit"]]


def carried_out(
    to: Connection, begin: "Callable[[OpenBrain], Awaitable[LifecycleStarted]]", *, detach: bool
) -> "OperationAnswer":
    """Start a job and, unless `detach` is set, wait for its end. Return its operation."""

    async def work(brain: "OpenBrain") -> "OperationAnswer":
        operation = (await begin(brain)).operation
        return operation if detach else await followed(brain, operation.id)

    return to.ask(work)


def report(
    operation: "OperationAnswer",
    *,
    dry_run: bool,
    undoable: bool = True,
    words: Mapping[str, str] | None = None,
    hint: str = "nothing was changed: add --yes to do it",
) -> None:
    """Print the counts and the first examples, each with its reason. `words` replaces unclear names of counts."""
    if operation.status.value != "done":
        print(f"{operation.id}  {operation.status.value}")
        if operation.finished_at is not None:
            failed(operation)
        return
    result = operation.result
    named = {name: number for name, number in result.items() if isinstance(number, int)}
    counts = {(words or {}).get(name, name): number for name, number in named.items()}
    left = {"held": "kept by a legal hold or a pin", "conflicts": "left, because another memory says the same there"}
    stays = "".join(f"; {counts.pop(name)} {why}" for name, why in left.items() if name in counts)
    would = "would be " if dry_run else ""
    done = ", ".join(f"{number} {would}{name}" for name, number in counts.items()) or f"nothing {would}changed"
    print(f"{done}, of {operation.done} looked at{stays}")
    examples = result.get("examples") or ()
    if examples:
        rows = ((example["id"], example["action"], example["why"]) for example in examples)
        show(table("memory", "", "why", rows=rows))
    if dry_run:
        if any(counts.values()):
            say(hint)
    elif counts and undoable:
        say(f"openbrain undo {operation.id}  puts them back, within 30 days")
