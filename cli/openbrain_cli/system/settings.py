"""settings: shows the settings that a process would use, and their origin."""

from typing import Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Config
from openbrain_cli.profile import settings_loaded, use_settings_file

Changed = Annotated[bool, typer.Option("--changed", help="Only settings that differ from the default.")]
Reference = Annotated[bool, typer.Option("--reference", help="Print the reference page of all settings instead.")]
Origin = Annotated[bool, typer.Option("--origin", help="With --json: print the value and origin of each.")]


@command(
    "openbrain settings --changed",
    "openbrain settings --config ./openbrain.toml --json --origin",
    "openbrain settings --reference > settings.md",
)
def settings(
    config: Config = None,
    changed: Changed = False,
    reference: Reference = False,
    origin: Origin = False,
    json: AsJson = False,
) -> None:
    """Show the settings that a process started here would use, and whether each comes from the environment, the
    settings file or the default. Secrets and passwords are hidden."""
    from openbrain.settings import reference as settings_reference

    if reference:
        print(settings_reference.page(), end="")
        return
    use_settings_file(config)
    loaded = settings_loaded()
    in_use, origins = settings_reference.effective(loaded.settings), settings_reference.origins(loaded)
    defaults = {line.name: line.default for line in settings_reference.lines()}
    shown = {name: value for name, value in in_use.items() if not changed or value != defaults[name]}
    if json:
        from openbrain_cli.output import as_json

        as_json({name: {"value": value, "from": origins[name]} for name, value in shown.items()} if origin else shown)
        return
    if not shown:
        print("every setting has its default")
        return
    from openbrain_cli.output import say, show, table

    # A path would leave no room for the values.
    file = str(loaded.file)
    # An alias goes on a line of its own.
    rows = (
        (name.replace(", ", ",\n"), "file" if origins[name] == file else origins[name], value)
        for name, value in shown.items()
    )
    show(table("setting", "from", "value", rows=rows))
    if file in origins.values():
        say(f"file: {file}")
