"""hook: entry in the list of commands. `openbrain_cli.start` answers hooks before commands are imported."""

from pathlib import Path
from typing import Annotated

import typer

from openbrain_cli.agents.hooks.command import run
from openbrain_cli.lazy_commands import command

Event = Annotated[
    str, typer.Argument(help="session-start, prompt, file, compact, stop, subagent-start, subagent-stop.")
]
Connected = Annotated[Path, typer.Option("--connection", help="Folder that `openbrain connect` made.")]


@command("openbrain hook session-start --connection ~/.openbrain/agents/claude-code < event.json")
def hook(event: Event, connection: Connected) -> None:
    """Handle one event of a coding agent, given as JSON on stdin.

    The exit code is 0 within two seconds, even after an error: a session never waits for the brain.
    """
    raise typer.Exit(run([event, "--connection", str(connection)]))
