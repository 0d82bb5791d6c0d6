"""dedupe and consolidate: replace memories that say the same, or nearly the same, by one."""

from typing import Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.lifecycle.selected import Mode, Selected, carried_out, report
from openbrain_cli.options import Connection
from openbrain_cli.output import as_json

Threshold = Annotated[
    float, typer.Option("--threshold", min=0.8, max=1, help="Minimum cosine similarity of two memories' vectors.")
]
Reasoned = Annotated[
    bool, typer.Option("--reasoned", help="Let the configured model word the merged text, if it adds nothing.")
]


@command("openbrain dedupe", "openbrain dedupe --project shop --yes")
def dedupe(*, mode: Mode, to: Connection, selected: Selected) -> None:
    """Archive memories that say the same as another one of the same org, project, type and audience.

    The best one stays, with the tags, feedback and recall counts of all; numbers, names, dates and negations must
    agree. `openbrain undo` puts the others back. Needs an admin's key.
    """
    which = selected.filters()
    operation = carried_out(to, lambda brain: brain.dedupe(dry_run=mode.looks, **which), detach=mode.detach)
    as_json(operation) if mode.json else report(operation, dry_run=mode.looks)


@command(
    "openbrain consolidate --project shop",
    "openbrain consolidate --threshold 0.97 --yes",
    "openbrain brain:consolidate --org=core --project=go-io --threshold=0.95 --dry-run",
)
def consolidate(
    *, mode: Mode, to: Connection, selected: Selected, threshold: Threshold = 0.95, reasoned: Reasoned = False
) -> None:
    """Merge similar memories of the same org, project, type and audience into the one of highest confidence.

    The merged text has each sentence once, in the newest wording, and cites its sources in its metadata; the sources
    are archived. `openbrain undo` restores all of them as they were. Needs an admin's key.
    """
    how = {"threshold": threshold, "reasoned": reasoned, **selected.filters()}
    operation = carried_out(to, lambda brain: brain.consolidate(dry_run=mode.looks, **how), detach=mode.detach)
    as_json(operation) if mode.json else report(operation, dry_run=mode.looks)
