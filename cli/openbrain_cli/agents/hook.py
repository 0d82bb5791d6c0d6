"""hook: as it is listed among the commands. `openbrain_cli.start` answers it before commands are imported."""

from pathlib import Path
from typing import Annotated

import typer

from openbrain_cli.agents.hooks.command import run
from openbrain_cli.lazy_commands import command

Event = Annotated[
    str, typer.Argument(help="session-start, prompt, file, compact, stop, subagent-start, subagent-stop.")
]
Connected = Annotated[Path, typer.Option("--connection", help="The folder that `openbrain connect` made.")]


@command("openbrain hook session-start --connection ~/.openbrain/agents/claude-code < event.json")
def hook(event: Event, connection: Connected) -> None:
    """Answer an event of a coding agent, which says on stdin what happens.

    The exit code is 0 whatever happens, within two seconds: a session never waits for a brain.
    """
    raise typer.Exit(run([event, "--connection", str(connection)]))
