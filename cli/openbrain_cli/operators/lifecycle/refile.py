"""refile and backfill-org: move many memories to another org or project."""

from typing import Annotated

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.lifecycle.selected import Detach, Selected, carried_out, report
from openbrain_cli.options import AsJson, Connection, given
from openbrain_cli.output import as_json, say

ToOrg = Annotated[str | None, typer.Option("--to-org", help="New org; '' for none.")]
ToProject = Annotated[str | None, typer.Option("--to-project", help="New project; '' for none.")]
ToScope = Annotated[str | None, typer.Option("--to-scope", help="New scope: agent, project or shared.")]
ToAgent = Annotated[str | None, typer.Option("--to-agent", help="Agent that they belong to from now on.")]
OrgOfTheRest = Annotated[str | None, typer.Option("--to-org", help="Org for projects that have none, or several.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be moved.")]
Map = Annotated[
    list[str] | None, typer.Option("--map", metavar="PROJECT=ORG", help="The org of a project; repeatable.")
]
_MOVED = {"rewritten": "filed elsewhere"}
_HINT = "nothing was changed: leave out --dry-run to do it"


@command(
    "openbrain refile --project shop --to-project shop-api --dry-run",
    "openbrain refile --project shop --tag api --to-project shop-api --to-org core",
)
def refile(
    *,
    to: Connection,
    selected: Selected,
    to_org: ToOrg = None,
    to_project: ToProject = None,
    to_scope: ToScope = None,
    to_agent: ToAgent = None,
    dry_run: DryRun = False,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Move the live memories that match to another project or org, with their history, tags and use.

    A memory stays where it is if the new place has one that says the same. `openbrain undo` moves the others back.
    Needs an admin's key.
    """
    which = selected.filters()
    place = given(to_memory_scope=to_scope, to_agent_id=to_agent)
    place |= {name: new for name, new in {"to_org": to_org, "to_project": to_project}.items() if new is not None}
    if not place or not which:
        raise Invalid("", "say which memories (--project, --org, --tag …) and where to (--to-project, --to-org …)")
    operation = carried_out(to, lambda brain: brain.refile(dry_run=dry_run, **place, **which), detach=detach)
    as_json(operation) if json else report(operation, dry_run=dry_run, words=_MOVED, hint=_HINT)


@command(
    "openbrain backfill-org --dry-run",
    "openbrain backfill-org --map shop=core --map site=core",
    "openbrain brain:backfill-org --dry-run",
)
def backfill_org(
    *,
    to: Connection,
    selected: Selected,
    mapped: Map = None,
    to_org: OrgOfTheRest = None,
    dry_run: DryRun = False,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Give memories that have a project but no org the org of the project's other memories.

    --map names the org of a project for which it is unclear, --to-org the org of all the rest. `openbrain undo` takes
    it back. Needs an admin's key.
    """
    which = selected.filters() | given(orgs=dict(_pair(item) for item in mapped or ()) or None, to_org=to_org)
    operation = carried_out(to, lambda brain: brain.backfill_org(dry_run=dry_run, **which), detach=detach)
    if json:
        as_json(operation)
        return
    report(operation, dry_run=dry_run, words=_MOVED, hint=_HINT)
    for project in operation.result.get("undecided", ()):
        say(f"{project}: its org is unclear: name it with --map {project}=ORG")


def _pair(text: str) -> tuple[str, str]:
    project, _, org = text.partition("=")
    if not project or not org:
        raise Invalid("--map", "must be PROJECT=ORG")
    return project, org
