"""workspaces: create, list, change, delete."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid, SetupError
from openbrain.ports.content import Action
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Connection, confirmed, given
from openbrain_cli.output import as_json, day, one_line, say, show, table

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.access import WorkspaceAnswer
    from openbrain.contract.admin.operations import OperationAnswer

app = new_app(no_args_is_help=True, help="Workspaces separate tenants. All commands need an operator's key.")

WorkspaceId = Annotated[str, typer.Argument(metavar="ID", help="Short id, such as acme.")]
MaxMemories = Annotated[int | None, typer.Option("--max-memories", min=0, help="Maximum number of live memories.")]
MaxBytes = Annotated[int | None, typer.Option("--max-bytes", min=0, help="Maximum number of bytes of content.")]
PersonalData = Annotated[
    Action | None,
    typer.Option("--personal-data", help="What to do with e-mail addresses, cards and the like that are stored there."),
]
NoQuota = Annotated[bool, typer.Option("--no-quota", help="Remove both quotas.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Quotas and personal-data rule of a workspace."""

    max_memories: MaxMemories = None
    max_bytes: MaxBytes = None
    personal_data: PersonalData = None

    def quotas(self) -> Any:
        return given(max_memories=self.max_memories, max_bytes=self.max_bytes)

    def given(self) -> Any:
        return {**self.quotas(), **given(personal_data=self.personal_data)}


@app.command()
@command("openbrain workspaces create acme --name 'Acme Inc.'", "openbrain workspaces create trial --max-memories 1000")
def create(
    workspace_id: WorkspaceId,
    *,
    settings: Settings,
    to: Connection,
    name: Annotated[str, typer.Option(help="Display name; the id if left out.")] = "",
    json: AsJson = False,
) -> None:
    """Create a workspace."""
    made = to.ask(lambda brain: brain.create_workspace(workspace_id, name, **settings.given()), admin=True)
    if json:
        as_json(made)
    else:
        print(f"{one_line(made.id)}  created; next: openbrain keys create NAME --workspace {one_line(made.id)}")


@app.command()
@command(
    "openbrain workspaces change acme --max-memories 100000 --max-bytes 500000000",
    "openbrain workspaces change acme --personal-data mask",
)
def change(
    workspace_id: WorkspaceId,
    *,
    settings: Settings,
    to: Connection,
    name: Annotated[str, typer.Option(help="Display name.")] = "",
    no_quota: NoQuota = False,
    json: AsJson = False,
) -> None:
    """Change a workspace's name, quotas or treatment of personal data. What is stored already stays unchanged."""
    values = settings.given()
    if no_quota and settings.quotas():
        raise Invalid("", "give --no-quota or a quota, not both")
    if no_quota:
        values |= {"max_memories": None, "max_bytes": None}
    changed = to.ask(lambda brain: brain.change_workspace(workspace_id, name=name, **values), admin=True)
    if json:
        as_json(changed)
    else:
        rule = "" if changed.personal_data == Action.OFF else f", personal data: {changed.personal_data}"
        print(f"{one_line(changed.id)}  {_held(changed) or 'has no quota'}{rule}")


@app.command("list")
@command("openbrain workspaces list")
def list_workspaces(to: Connection, json: AsJson = False) -> None:
    """List all workspaces, and the usage of those with a quota."""
    workspaces = to.ask(_all, admin=True)
    if json:
        as_json({"workspaces": workspaces, "count": len(workspaces)})
    elif workspaces:
        show(table("id", "created", "usage", "name", rows=_rows(workspaces)))
    else:
        say("there are no workspaces yet")


async def _all(brain: "OpenBrain") -> "list[WorkspaceAnswer]":
    from openbrain.client.wire import pages

    listed = pages(lambda cursor: brain.workspaces(cursor=cursor))
    return [workspace async for page in listed for workspace in page.workspaces]


def _rows(workspaces: "Iterable[WorkspaceAnswer]") -> "Iterable[tuple[str, ...]]":
    for workspace in workspaces:
        yield workspace.id, day(workspace.created_at), _held(workspace), one_line(workspace.name)


def _held(workspace: "WorkspaceAnswer") -> str:
    parts = (
        (workspace.memories, workspace.max_memories, "memories"),
        (workspace.bytes, workspace.max_bytes, "bytes"),
    )
    return ", ".join(f"{used} of {most} {what}" for used, most, what in parts if most is not None)


@app.command("delete")
@command("openbrain workspaces delete acme --dry-run", "openbrain workspaces delete acme --yes")
def delete(
    workspace_id: WorkspaceId,
    to: Connection,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what it contains.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    json: AsJson = False,
) -> None:
    """Delete a workspace with everything in it. Its keys stop working at once. Can't be undone."""
    if dry_run or not yes:
        plan = to.ask(lambda brain: brain.delete_workspace(workspace_id, dry_run=True), admin=True)
        if json and dry_run:
            as_json(plan)
            return
        held = [f"{count:>8}  {name}" for name, count in plan.counts.items() if count]
        tell = print if dry_run else say  # with the question, apart from the result
        tell("\n".join(held) or f"{one_line(workspace_id)} holds nothing")
        if dry_run:
            return
        confirmed(f"Delete {workspace_id} with all of this?")
    ended = to.ask(lambda brain: _deleted(brain, workspace_id), admin=True)
    as_json(ended) if json else print(f"{one_line(workspace_id)}  deleted (operation {ended.id})")


async def _deleted(brain: "OpenBrain", workspace_id: str) -> "OperationAnswer":
    from openbrain_cli.operators.operations import failed, followed

    deletion = await brain.delete_workspace(workspace_id)
    if deletion.operation is None:
        raise SetupError("the server started no operation: check its version")
    operation = await followed(brain, deletion.operation.id)
    failed(operation)
    return operation
