"""index: setup."""

import asyncio
from typing import TYPE_CHECKING

from openbrain_cli.lazily import command, new_app
from openbrain_cli.options import AsJson
from openbrain_cli.output import as_json, show, table
from openbrain_cli.profile import settings_in_use

if TYPE_CHECKING:
    from openbrain.ports.generations import Generation
    from openbrain.settings import Settings

app = new_app(no_args_is_help=True, help="The search indexes on servers.")


@app.callback()
def group() -> None:
    """Keeps `setup` a command of a group while it is the only one."""


@app.command()
@command("openbrain index setup", "openbrain index setup --json")
def setup(json: AsJson = False) -> None:
    """Make the indexes that the settings name, with their mappings, before any room runs.

    Rooms do the same when they start: this is for who wants to see it done, or to look at the indexes first. What is
    there already stays as it is. `openbrain up` makes the embedded ones itself.
    """
    made = asyncio.run(_setup(settings_in_use()))
    if json:
        as_json([{"kind": each.kind, "name": each.name, "model": each.model, "builder": each.builder} for each in made])
        return
    show(table("index", "name", rows=((each.kind, f"{each.name}\nbuilt by {each.builder}") for each in made)))


@command("openbrain elastic-setup")
def elastic_setup(json: AsJson = False) -> None:
    """The original's name for `openbrain index setup`."""
    setup(json=json)


async def _setup(settings: "Settings") -> "list[Generation]":
    from openbrain.parts import Parts

    async with Parts(settings) as parts:
        _ = parts.text, parts.vectors  # embedded ones are refused before anything is asked
        return [await parts.text_generation(), await parts.vector_generation()]
