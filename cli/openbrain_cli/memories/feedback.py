"""feedback."""

from typing import Annotated

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Session, Speaking
from openbrain_cli.output import as_json, show, table

Recall = Annotated[str, typer.Argument(metavar="RECALL", help="The recall_id of an answer (openbrain recall --json).")]
Used = Annotated[list[str] | None, typer.Option("--used", metavar="ID", help="Memory that was used; repeatable.")]
Ignored = Annotated[list[str] | None, typer.Option("--ignored", metavar="ID", help="Memory of no use; repeatable.")]
Wrong = Annotated[list[str] | None, typer.Option("--wrong", metavar="ID", help="Memory that is wrong; repeatable.")]
Reason = Annotated[str, typer.Option("--reason", help="Why.")]


@command("openbrain feedback RECALL --used ID --wrong ID --reason 'moved to SSDs'")
def feedback(
    recall: Recall,
    to: Speaking,
    *,
    used: Used = None,
    ignored: Ignored = None,
    wrong: Wrong = None,
    reason: Reason = "",
    session: Session = "",
    json: AsJson = False,
) -> None:
    """Report which results of a recall were used, ignored or wrong. Each counts once and changes its confidence."""
    answer = to.ask(
        lambda brain: brain.feedback(
            recall, used=used or (), ignored=ignored or (), wrong=wrong or (), reason=reason, session_id=session
        )
    )
    if json:
        as_json(answer)
        return
    rows = [
        (
            result.memory_id,
            result.verdict,
            result.status,
            "" if result.confidence is None else f"{result.confidence:.2f}",
        )
        for result in answer.results
    ]
    show(table("memory", "", "", "confidence", rows=rows))
