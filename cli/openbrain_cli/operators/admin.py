"""admin: all operators' commands in one group."""

from openbrain_cli.lazy_commands import new_app
from openbrain_cli.operators import keys, operations, workspaces

app = new_app(no_args_is_help=True, help="Operators' commands. Each group is also a command itself: openbrain keys ...")
app.add_typer(workspaces.app, name="workspaces")
app.add_typer(keys.app, name="keys")
app.add_typer(operations.app, name="operations")
