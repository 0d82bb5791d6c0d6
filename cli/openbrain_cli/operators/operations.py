"""operations: list, show, watch, cancel."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Connection, Cursor, Limit, Workspace, given
from openbrain_cli.output import as_json, bar, moment, one_line, say, show, table

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.operations import OperationAnswer

app = new_app(no_args_is_help=True, help="Long-running work: watch it, or cancel it. Needs an admin's key.")

OperationId = Annotated[str, typer.Argument(metavar="ID", help="Id of an operation, as `operations list` shows it.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="purge, forget ...; repeatable.")]
Statuses = Annotated[
    list[str] | None, typer.Option("--status", help="queued, running, done, failed, cancelled; repeatable.")
]


@app.command("list")
@command("openbrain operations list", "openbrain operations list --status running --json")
def list_operations(
    to: Connection,
    kind: Kinds = None,
    status: Statuses = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    workspace: Workspace = "",
    json: AsJson = False,
) -> None:
    """List operations, newest first."""
    which = given(kind=kind, status=status, cursor=cursor)
    response = to.ask(
        lambda brain: brain.operations(limit=limit, workspace_id=workspace, **which), admin=bool(workspace)
    )
    if json:
        as_json(response)
    elif response.operations:
        show(table("created", "status", "operation", rows=_rows(response.operations)))
        if response.next_cursor:
            say(f"there are more: --cursor {response.next_cursor}")
    else:
        say("there are no operations here")


def _rows(operations: "Iterable[OperationAnswer]") -> "Iterable[tuple[str, ...]]":
    for operation in operations:
        yield (
            moment(operation.created_at),
            operation.status.value,
            f"{operation.id}\n{one_line(operation.kind)} · {_how_far(operation)}",
        )


def _how_far(operation: "OperationAnswer") -> str:
    of = "" if operation.total is None else f" of {operation.total}"
    why = operation.error or operation.result.get("waits_for") or ""
    return f"{operation.done}{of}{f': {one_line(str(why))}' if why else ''}"


@app.command("show")
@command("openbrain operations show 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def show_operation(operation_id: OperationId, to: Connection, workspace: Workspace = "", json: AsJson = False) -> None:
    """Show one operation: what was requested, and what has been done."""
    response = to.ask(lambda brain: brain.operation(operation_id, workspace_id=workspace), admin=bool(workspace))
    if json:
        as_json(response)
        return
    show(table("created", "status", "operation", rows=_rows([response])))
    as_json({"request": response.request, "result": response.result})


@app.command()
@command("openbrain operations watch 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def watch(operation_id: OperationId, to: Connection, workspace: Workspace = "", json: AsJson = False) -> None:
    """Follow one operation until it has ended. Ctrl-C stops watching, not the operation."""
    ended = to.ask(lambda brain: followed(brain, operation_id, workspace), admin=bool(workspace))
    if json:
        as_json(ended)
    else:
        print(f"{ended.id}  {ended.status.value}  {_how_far(ended)}")
    failed(ended)


@app.command()
@command("openbrain operations cancel 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def cancel(operation_id: OperationId, to: Connection, workspace: Workspace = "", json: AsJson = False) -> None:
    """Cancel one operation. What it has done by then stays done."""
    response = to.ask(lambda brain: brain.cancel(operation_id, workspace_id=workspace), admin=bool(workspace))
    if json:
        as_json(response)
    else:
        ending = (
            "will end after its step"
            if response.cancel_requested and not response.status.ended
            else response.status.value
        )
        print(f"{response.id}  {ending}")


async def followed(brain: "OpenBrain", operation_id: str, workspace: str = "") -> "OperationAnswer":
    """Follow an operation to its end, with a progress bar on stderr if that is a terminal."""
    with outliving(operation_id, workspace), bar() as shown:
        task = shown.add_task("operation", total=None)
        async for state in brain.watch(operation_id, workspace_id=workspace):
            shown.update(task, description=one_line(state.kind), completed=state.done, total=state.total)
            ended = state
    return ended


@contextmanager
def outliving(operation_id: str, workspace: str = "") -> Iterator[None]:
    """If the command ends before the operation, as on Ctrl-C, say that this goes on, and how to end it."""
    try:
        yield
    except (asyncio.CancelledError, TryLater):
        where = f"{operation_id} --workspace {workspace}" if workspace else operation_id
        say(
            f"the operation goes on: openbrain operations watch {where}, or end it: openbrain operations cancel {where}"
        )
        raise


def failed(operation: "OperationAnswer") -> None:
    """Raise an error if the operation did not succeed."""
    if operation.status.value != "done":
        why = f": {operation.error}" if operation.error else ""
        raise OpenBrainError(f"the operation {operation.id} is {operation.status.value}{why}")
