"""transcripts."""

from enum import StrEnum
from typing import Annotated

import typer

from openbrain.adapters.local.transcript_consent import allow, answer
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import Data
from openbrain_cli.profile import profile


class Choice(StrEnum):
    ON = "on"
    OFF = "off"


Switch = Annotated[Choice | None, typer.Argument(metavar="[on|off]", help="Leave out to show the current setting.")]


@command("openbrain transcripts", "openbrain transcripts on", "openbrain transcripts off")
def transcripts(switch: Switch = None, data: Data = None) -> None:
    """Allow or forbid OpenBrain to read the transcripts of this machine's agents.

    When on, hooks store the lessons, decisions, milestones and signals that an agent marked in its session, and vault
    ticks make arcs of sessions. Off by default; a change takes effect with the next hook and the next tick.
    """
    chosen = profile(data=data)
    folder = chosen.data_dir
    if switch is not None:
        allow(folder, chosen.homes().claude / "projects", read=switch is Choice.ON)
    print({True: "on", False: "off", None: "off (nobody was asked yet)"}[answer(folder)])
