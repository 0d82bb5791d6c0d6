"""models change: embeds all memories with another model while the old one answers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, say

if TYPE_CHECKING:
    from openbrain.contract.admin.models import ModelChange

NewModel = Annotated[
    str, typer.Argument(metavar="NAME", help="Name in `openbrain models list`, or on the Ollama server.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
ReEmbed = Annotated[bool, typer.Option("--re-embed", help="Call the model even for vectors that are known.")]
Rate = Annotated[int | None, typer.Option("--rate", min=1, help="Maximum number of memories per second.")]
MaxFailures = Annotated[
    int, typer.Option("--max-failures", min=0, help="Switch even if this many memories can't be embedded.")
]
Detach = Annotated[bool, typer.Option("--detach", help="Do not wait for its end; `openbrain operations watch` does.")]


@command(
    "openbrain models change bge-small-en-v1.5 --dry-run",
    "openbrain models change bge-small-en-v1.5",
    "openbrain models change nomic-embed-text --rate 50 --detach",
)
def change(
    name: NewModel,
    to: Connection,
    dry_run: DryRun = False,
    re_embed: ReEmbed = False,
    rate: Rate = None,
    max_failures: MaxFailures = 0,
    detach: Detach = False,
    json: AsJson = False,
) -> None:
    """Embed all memories with another model into a new index while the old one answers, then switch to it.

    The old index is kept up to date: the same command with the old name switches back at once. Ctrl-C stops watching,
    not the change; `openbrain operations cancel` cancels it, and nothing has changed. If a model's weights changed on
    the server, the command with the same name uses the new weights.
    """
    from openbrain_cli.operators.operations import failed, followed

    how: Any = {"re_embed": re_embed, "max_failures": max_failures} | ({} if rate is None else {"rate": rate})
    change = to.ask(lambda brain: brain.change_model(name, dry_run=dry_run, **how), admin=True)
    operation = change.operation
    if operation is None or detach:
        as_json(change) if json else _tell(change)
        return
    ended = to.ask(lambda brain: followed(brain, operation.id), admin=True)
    if json:
        as_json(change.model_copy(update={"operation": ended}))
    elif ended.status.value == "done":
        result = ended.result
        print(f"{change.to.model} serves: {ended.done} memories in {result.get('seconds', 0)} s")
        say(f"the index of {change.serving.model} is kept current: `openbrain index list` shows it")
    failed(ended)


def _tell(change: "ModelChange") -> None:
    of = f"{change.total} memories, {change.cached} model inputs known"
    would = "would " if change.dry_run else ""
    if change.how.value == "nothing":
        print(f"{change.to.model} serves already")
    elif change.how.value == "switch":
        verb = "serve" if change.dry_run else "serves"
        print(f"{change.to.model} {would}{verb}: its index was kept current, nothing is embedded")
    elif change.operation is None:
        print(f"would embed by {change.to.model} ({change.to.dimensions} dimensions): {of}")
    else:
        print(f"{change.operation.id}  embeds by {change.to.model}: {of}")
