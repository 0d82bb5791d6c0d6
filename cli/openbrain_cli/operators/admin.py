"""admin: what operators do, under one name."""

from openbrain_cli.lazy_commands import new_app
from openbrain_cli.operators import keys, operations, workspaces

app = new_app(no_args_is_help=True, help="What operators do. Each group stands by itself too: openbrain keys ...")
app.add_typer(workspaces.app, name="workspaces")
app.add_typer(keys.app, name="keys")
app.add_typer(operations.app, name="operations")
