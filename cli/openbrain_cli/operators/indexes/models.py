"""models: lists the embedded models and the one that serves; changes to another one."""

from typing import TYPE_CHECKING, Any

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.operators.indexes.active_model import ModelInUse, model_in_use
from openbrain_cli.operators.indexes.model_change import change
from openbrain_cli.options import AsJson, Data
from openbrain_cli.output import as_json, say, show, table

if TYPE_CHECKING:
    from openbrain.adapters.embedding.embedded_models import EmbeddedModel

app = new_app(no_args_is_help=True, help="Embedding models: list those inside OpenBrain, change the one that serves.")
app.command()(change)


@app.command("list")
@command("openbrain models list", "openbrain models list --json")
def list_models(data: Data = None, json: AsJson = False) -> None:
    """List the embedded models, and whether their files are present and intact."""
    from openbrain.adapters.embedding.embedded_models import EMBEDDED_MODELS

    in_use = model_in_use(data)
    models = [_row(embedded_model, in_use) for embedded_model in EMBEDDED_MODELS]
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


def _row(model: "EmbeddedModel", in_use: "ModelInUse") -> dict[str, Any]:
    problem = model.problem()
    return {
        "name": model.name,
        "aliases": list(model.aliases),
        "dimensions": model.kind.identity.dimensions,
        "token_limit": model.kind.model.token_limit,
        "bytes": model.size,
        "licence": model.licence,
        "source": model.source,
        "sha256": model.kind.identity.digest,
        "state": "ready" if not problem else "damaged" if model.there() else "missing",
        "problem": problem,
        "used": in_use.needs(model),
        "serves": in_use.serving == model.full_name,
    }


def _state(model: dict[str, Any]) -> str:
    """The state in a word; for a damaged file the problem."""
    if model["state"] == "ready":
        return "serves" if model["serves"] else "in use" if model["used"] else "ready"
    state = model["problem"] if model["state"] == "damaged" else "missing"
    return f"{state}, in use" if model["used"] else str(state)


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
