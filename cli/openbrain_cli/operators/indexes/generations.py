"""index: setup, list, switch, drop."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import NotFound
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, moment, one_line, show, table
from openbrain_cli.profile import settings_in_use

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.indexes import GenerationAnswer
    from openbrain.ports.store.generations import Generation
    from openbrain.settings import Settings

app = new_app(no_args_is_help=True, help="The search indexes: list, set up, switch and drop them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of an index, as `index list` shows it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be dropped.")]


@app.command("list")
@command("openbrain index list", "openbrain index list --json")
def list_indexes(to: Connection, json: AsJson = False) -> None:
    """List the indexes that serve, are being built, or are kept to switch back to."""
    response = to.ask(lambda brain: brain.generations(), admin=True)
    if json:
        as_json(response)
        return
    rows = (
        (
            generation.index.value,
            generation.status.value,
            moment(generation.updated_at),
            f"{one_line(generation.name)}\n{_made_by(generation)}",
        )
        for generation in response.generations
    )
    show(table("index", "status", "since", "name", rows=rows))


@app.command()
@command("openbrain index switch openbrain-memories-text-1")
def switch(name: Name, to: Connection, json: AsJson = False) -> None:
    """Switch to a kept index. The index that serves now is kept up to date."""

    async def change(brain: "OpenBrain") -> "GenerationAnswer":
        return await brain.switch_generation((await _named(brain, name)).index.value, name)

    serving = to.ask(change, admin=True)
    as_json(serving) if json else print(f"{one_line(serving.name)}  serves")


@app.command()
@command("openbrain index drop openbrain-memories-text-1 --dry-run", "openbrain index drop openbrain-memories-text-1")
def drop(name: Name, to: Connection, dry_run: DryRun = False, json: AsJson = False) -> None:
    """Remove an index that does not serve. The database keeps all memories."""

    async def change(brain: "OpenBrain") -> "GenerationAnswer":
        generation = await _named(brain, name)
        return (await brain.drop_generation(generation.index.value, name, dry_run=dry_run)).generation

    dropped = to.ask(change, admin=True)
    as_json(dropped) if json else print(f"{one_line(dropped.name)}  {'would be dropped' if dry_run else 'dropped'}")


async def _named(brain: "OpenBrain", name: str) -> "GenerationAnswer":
    for generation in (await brain.generations()).generations:
        if generation.name == name:
            return generation
    raise NotFound("there is no index of this name: `openbrain index list` shows all")


def _made_by(generation: "GenerationAnswer") -> str:
    return f"built by {one_line(generation.builder)}" + (
        f", vectors of {one_line(generation.model)}" if generation.model else ""
    )


@app.command()
@command("openbrain index setup", "openbrain index setup --json")
def setup(json: AsJson = False) -> None:
    """Create the indexes that the settings name, with their mappings, before any service runs.

    Services do the same when they start; use this to look at the indexes first. Existing indexes are not changed.
    `openbrain up` creates the embedded ones itself.
    """
    made = asyncio.run(_setup(settings_in_use()))
    if json:
        as_json([{"kind": item.kind, "name": item.name, "model": item.model, "builder": item.builder} for item in made])
        return
    show(table("index", "name", rows=((item.kind, f"{item.name}\nbuilt by {item.builder}") for item in made)))


@command("openbrain elastic-setup")
def elastic_setup(json: AsJson = False) -> None:
    """Old name for `openbrain index setup`."""
    setup(json=json)


async def _setup(settings: "Settings") -> "list[Generation]":
    from openbrain.runtime.container import Container

    async with Container(settings) as container:
        _ = container.text, container.vectors  # raises an error for embedded indexes, before any request
        return [await container.text_generation(), await container.vector_generation()]
