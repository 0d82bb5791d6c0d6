"""workspaces: create, list."""

from typing import Annotated

import typer

from openbrain_cli.lazily import command, new_app
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, one_line, say, show, table

app = new_app(no_args_is_help=True, help="Workspaces keep tenants apart. Both commands need an operator's key.")


@app.command()
@command("openbrain workspaces create acme --name 'Acme Inc.'")
def create(
    workspace_id: Annotated[str, typer.Argument(metavar="ID", help="Short, as in acme.")],
    to: Connection,
    name: Annotated[str, typer.Option(help="For people; the id where it is left out.")] = "",
    json: AsJson = False,
) -> None:
    """Make a workspace."""
    made = to.ask(lambda brain: brain.create_workspace(workspace_id, name), admin=True)
    if json:
        as_json(made)
    else:
        print(f"{one_line(made.id)}  made; next: openbrain keys create NAME --workspace {one_line(made.id)}")


@app.command("list")
@command("openbrain workspaces list")
def list_workspaces(to: Connection, json: AsJson = False) -> None:
    """List all workspaces."""
    from openbrain_cli.rendering import day

    found = to.ask(lambda brain: brain.workspaces(), admin=True)
    if json:
        as_json(found)
    elif found.workspaces:
        rows = ((each.id, day(each.created_at), one_line(each.name)) for each in found.workspaces)
        show(table("id", "created", "name", rows=rows))
    else:
        say("there are no workspaces yet")
