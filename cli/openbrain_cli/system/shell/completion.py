"""openbrain completion: prints the completion script of a shell."""

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import shell_complete

PROGRAM = "openbrain"


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(context: typer.Context, shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print the script with which a shell completes commands and options.

    \b
    Examples:
    openbrain completion bash > ~/.local/share/bash-completion/completions/openbrain
    openbrain completion zsh > ~/.zfunc/_openbrain
    openbrain completion fish > ~/.config/fish/completions/openbrain.fish
    """
    command = context.find_root().command
    raise typer.Exit(shell_complete(command, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE", f"source_{shell.value}"))
