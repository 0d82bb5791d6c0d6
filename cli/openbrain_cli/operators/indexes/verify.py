"""verify and `db restored`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.operators.operations import failed, followed
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, say, show, table
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.admin.operations import OperationAnswer

Full = Annotated[bool, typer.Option("--full", help="Compare every entry, even where the checksums agree.")]
Repair = Annotated[bool, typer.Option("--repair", help="Make the indexes equal to the database.")]


@command("openbrain verify", "openbrain verify --full --repair", "openbrain verify --json")
def verify(to: Connection, full: Full = False, repair: Repair = False, json: AsJson = False) -> None:
    """Compare every index with the database: which entries are missing, outdated or extra.

    The exit code is 1 if something differs and was not repaired. Changes that are still in the streams do not count.
    Needs an operator's key.
    """
    _tell(to.ask(lambda brain: _verified(brain, full=full, repair=repair), admin=True), json=json)


@command("openbrain db restored")
def restored(to: Connection, json: AsJson = False) -> None:
    """Repair the indexes after the database was restored to an earlier state, while indexes and streams were not.

    Every memory is indexed again, above whatever version an index has seen, and entries that the database no longer
    knows are removed from the indexes. Recall keeps answering. Needs an operator's key.
    """
    _tell(to.ask(lambda brain: _verified(brain, repair=True, restored=True), admin=True), json=json)


async def _verified(
    brain: "OpenBrain", *, full: bool = False, repair: bool = False, restored: bool = False
) -> "OperationAnswer":
    operation = await brain.verify(full=full, repair=repair, restored=restored)
    return await followed(brain, operation.id)


def _tell(ended: "OperationAnswer", *, json: bool) -> None:
    result = ended.result
    if json:
        as_json({"operation": ended.id, "status": ended.status, **result})
    elif result.get("indexes"):
        show(table("index", "name", rows=((item["kind"], "\n".join(_lines(item))) for item in result["indexes"])))
        _sum_up(result)
    failed(ended)
    if result["differences"] > result["repaired"]:
        raise typer.Exit(exit_codes.REFUSED)


def _lines(index: Mapping[str, Any]) -> Iterator[str]:
    yield f"{index['name']} ({index['status']})"
    yield f"holds {index['entries']} of {index['rows']}, tombstones: {index['tombstones']}"
    faults = ", ".join(f"{count} {fault}" for fault, count in index["faults"].items() if count)
    yield "; ".join(part for part in (faults, index["note"]) if part) or "equal"
    if index["queued"]:
        yield f"{index['queued']} on their way"


def _sum_up(result: Mapping[str, Any]) -> None:
    if "lifted" in result:
        say(f"{result['lifted']} memories are indexed again")
    if any(item["note"] for item in result["indexes"]):
        say("not every index could be compared or repaired: see the notes above")
    elif result["differences"] > result["repaired"]:
        say(f"{result['differences']} memories differ: `openbrain verify --repair` repairs them")
    elif result["repaired"]:
        say(f"{result['repaired']} memories were repaired: searches follow in a moment")
