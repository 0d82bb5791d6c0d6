"""dedupe and consolidate: several memories that say the same, or nearly, as one."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.lifecycle.selected import Detach, DryRun, Selected, Yes, ended, report
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.operations import OperationAnswer

Threshold = Annotated[
    float, typer.Option("--threshold", min=0.8, max=1, help="How near two must be, by the cosine of their vectors.")
]
Reasoned = Annotated[
    bool, typer.Option("--reasoned", help="Let the model that is set word the merged text, where it adds nothing.")
]


@command("openbrain dedupe", "openbrain dedupe --project shop --yes")
def dedupe(
    *,
    to: Connection,
    selected: Selected,
    dry_run: DryRun = False,
    yes: Yes = False,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Archive what says the same as another memory of its org, project, type and audience.

    The best one stays, with the tags, feedback and recall counts of all; numbers, names, dates and negations must
    agree. `openbrain undo` puts the others back. Needs an admin's key.
    """
    which, looks = selected.filters(), dry_run or not yes

    async def work(brain: "OpenBrain") -> "OperationAnswer":
        return await ended(brain, await brain.dedupe(dry_run=looks, **which), wait=not detach)

    operation = to.ask(work)
    as_json(operation) if json else report(operation, dry_run=looks)


@command(
    "openbrain consolidate --project shop",
    "openbrain consolidate --threshold 0.97 --yes",
    "openbrain brain:consolidate --org=core --project=go-io --threshold=0.95 --dry-run",
)
def consolidate(
    *,
    to: Connection,
    selected: Selected,
    threshold: Threshold = 0.95,
    reasoned: Reasoned = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Merge memories about the same, of one org, project, type and audience, into the surest of them.

    It says each sentence once, in the newest wording, and cites its sources in its metadata; those are archived.
    `openbrain undo` puts all of them back as they were. Needs an admin's key.
    """
    which, looks = selected.filters(), dry_run or not yes

    async def work(brain: "OpenBrain") -> "OperationAnswer":
        begun = await brain.consolidate(dry_run=looks, threshold=threshold, reasoned=reasoned, **which)
        return await ended(brain, begun, wait=not detach)

    operation = to.ask(work)
    as_json(operation) if json else report(operation, dry_run=looks)
