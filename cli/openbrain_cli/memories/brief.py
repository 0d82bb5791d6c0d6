"""brief."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Org, Project, Since, Speaking, given
from openbrain_cli.output import as_json, one_line, say, show, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbrain.contract.brain.brief import BriefItem

Limit = Annotated[int, typer.Option("--limit", min=1, max=100, help="Maximum number of items per part.")]
_PARTS = {"decided": "Decided", "stuck": "Stuck", "changed": "Changed"}


@command("openbrain brief", "openbrain brief --since 2026-11-01 --project shop", "openbrain brief --json")
def brief(
    to: Speaking,
    since: Since = None,
    org: Org = None,
    project: Project = None,
    limit: Limit = 20,
    json: AsJson = False,
) -> None:
    """Show what was decided, is stuck and has changed since a day, from memories, signals and the vault.

    Without --since it covers the last 7 days.
    """
    options = given(since=since, org=org or to.profile.org, project=project)
    answer = to.ask(lambda brain: brain.brief(limit=limit, **options))
    if json:
        as_json(answer)
        return
    print(f"since {answer.since:%Y-%m-%d %H:%M} UTC")
    for name, heading in _PARTS.items():
        _part(heading, getattr(answer, name))
        if name in answer.more:
            say(f"there is more {name}: raise --limit")
    if not answer.vault:
        say("no vault was read: the workspace has none, or the key may not read it")


def _part(heading: str, items: "Sequence[BriefItem]") -> None:
    print(f"\n{heading}" if items else f"\n{heading}: nothing")
    if items:
        rows = ((f"{item.at:%Y-%m-%d}", item.state, item.project or "", one_line(item.title)) for item in items)
        show(table("day", "", "project", "what", rows=rows))
