"""settings: what a process would use."""

from typing import Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson

Changed = Annotated[bool, typer.Option("--changed", help="Only what differs from the default.")]
Reference = Annotated[bool, typer.Option("--reference", help="Print the reference page of all settings instead.")]


@command("openbrain settings --changed", "openbrain settings --json", "openbrain settings --reference > settings.md")
def settings(changed: Changed = False, reference: Reference = False, json: AsJson = False) -> None:
    """Show the settings that a process started here would use; secrets and passwords are hidden."""
    from openbrain.settings import reference as settings_reference

    if reference:
        print(settings_reference.page(), end="")
        return
    from openbrain_cli.profile import settings_in_use

    in_use = settings_reference.effective(settings_in_use())
    defaults = {line.name: line.default for line in settings_reference.lines()}
    shown = {name: value for name, value in in_use.items() if not changed or value != defaults[name]}
    if json:
        from openbrain_cli.output import as_json

        as_json(shown)
        return
    if not shown:
        print("every setting has its default")
        return
    from openbrain_cli.output import show, table

    show(table("setting", "value", rows=shown.items()))
