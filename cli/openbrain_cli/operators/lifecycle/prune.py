"""prune, undo and review."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.lifecycle.selected import Mode, Selected, carried_out, days, report
from openbrain_cli.operators.operations import OperationId, failed, followed
from openbrain_cli.options import AsJson, Connection, Limit, Org, Project, given
from openbrain_cli.output import as_json, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.operations import OperationAnswer

_SHARE = {"min": 0, "max": 1}
MaxConfidence = Annotated[
    float | None, typer.Option("--max-confidence", **_SHARE, help="Only memories of at most this confidence.")
]
MaxEffective = Annotated[
    float | None,
    typer.Option("--max-effective-confidence", **_SHARE, help="The same, for the faded confidence."),
]
MinConfidence = Annotated[
    float | None,
    typer.Option("--min-confidence", **_SHARE, help="Only memories below this confidence; the original's option."),
]
MinEffective = Annotated[
    float | None,
    typer.Option("--min-effective-confidence", **_SHARE, help="The same, for the faded confidence."),
]
UnrecalledFor = Annotated[
    str | None,
    typer.Option("--unrecalled-for", metavar="DAYS", help="Not found by any recall for this long, such as 180d."),
]


@command(
    "openbrain prune --max-effective-confidence 0.2",
    "openbrain prune --unrecalled-for 180d --type observation --project shop --yes",
    "openbrain brain:prune --min-confidence=0.3 --dry-run",
)
def prune(
    *,
    mode: Mode,
    to: Connection,
    selected: Selected,
    max_effective_confidence: MaxEffective = None,
    max_confidence: MaxConfidence = None,
    min_confidence: MinConfidence = None,
    min_effective_confidence: MinEffective = None,
    unrecalled_for: UnrecalledFor = None,
) -> None:
    """Archive memories that are uncertain, old or unused: those that meet every limit given.

    Recall and lists do not show archived memories, but their content is kept: `openbrain undo` restores all that one
    run archived, `openbrain restore` one of them. Needs an admin's key.
    """
    filters = selected.filters()
    limits = given(
        max_effective_confidence=max_effective_confidence,
        max_confidence=max_confidence,
        min_confidence=min_confidence,
        min_effective_confidence=min_effective_confidence,
        unrecalled_days=days("--unrecalled-for", unrecalled_for) if unrecalled_for is not None else None,
    )
    if not limits and "older_than_days" not in filters:
        raise Invalid(
            "", "give at least one of --max-effective-confidence, --max-confidence, --unrecalled-for, --older-than"
        )
    operation = carried_out(to, lambda brain: brain.prune(dry_run=mode.looks, **filters, **limits), detach=mode.detach)
    as_json(operation) if mode.json else report(operation, dry_run=mode.looks)


_UNDONE = {
    "undone": "put back",
    "taken": "left, because others say the same by now",
    "changed": "left, because they were changed since",
    "full": "left, because the workspace is full",
}


@command("openbrain undo 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def undo(operation_id: OperationId, to: Connection, json: AsJson = False) -> None:
    """Undo what an operation archived, merged or moved within the last 30 days. Needs an admin's key."""

    async def work(brain: "OpenBrain") -> "OperationAnswer":
        return await followed(brain, (await brain.undo(operation_id)).operation.id)

    operation = to.ask(work)
    if json:
        as_json(operation)
    else:
        counts = [f"{number} {_UNDONE.get(what, what)}" for what, number in operation.result.items()]
        print(", ".join(counts) or "nothing to put back")
    failed(operation)


Days = Annotated[int, typer.Option("--days", min=1, help="Minimum age, and minimum time since a recall found them.")]


@command("openbrain review", "openbrain review --days 180 --project shop")
def review(
    *,
    to: Connection,
    days: Days = 90,
    org: Org = None,
    project: Project = None,
    limit: Limit = 20,
    json: AsJson = False,
) -> None:
    """List old memories that no recall has found since: candidates for `openbrain prune --unrecalled-for`."""
    from openbrain_cli.memories.display import rendering

    unused = to.ask(lambda brain: brain.review(days=days, org=org, project=project, limit=limit))
    if json:
        as_json(unused)
    elif unused.memories:
        rendering.listed(unused.memories)
        say(f"archive what is like these: openbrain prune --unrecalled-for {days}d")
    else:
        say("there are no old and unused memories here")
