"""export, and the part of import that reads an export."""

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid, SetupError
from openbrain_cli.lazy_commands import command
from openbrain_cli.memories.transfer.subject import DryRun, Subject, preview
from openbrain_cli.options import AsJson, Connection, Narrowed, Speaking
from openbrain_cli.output import as_json, one_line, progress, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain_cli.memories.transfer.download import Counts
    from openbrain_cli.memories.transfer.export_file import Checked
    from openbrain_cli.memories.transfer.upload import Totals

File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="File to create; stdout if left out.")]
Gzip = Annotated[bool, typer.Option("--gzip", help="Compress the file.")]


@command(
    "openbrain export backup.ndjson",
    "openbrain export backup.ndjson.gz --gzip",
    "openbrain export --project shop --type decision | jq .content",
    "openbrain export anna.ndjson --matching anna@example.com",
)
def export(
    file: File = None,
    *,
    to: Connection,
    narrowed: Narrowed,
    subject: Subject,
    gzip: Gzip = False,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Export memories as NDJSON: with an admin's key the entire workspace with its history, else what the key may see.

    Repeat the command to resume an interrupted export. The last line has counts and a digest, by which
    `openbrain import FILE` notices missing lines. `--agent`, `--speaker` and `--matching` select what is about one
    person or agent, as in `openbrain erase`.
    """
    narrowed.refuse_empty()
    filters = subject.over(narrowed.filters(to.profile))
    if dry_run:
        preview(to, filters, "exported", json=json)
        return
    if file is None:
        if gzip or json:
            raise Invalid("", "--gzip and --json need a FILE")
        to.ask(lambda brain: _print(brain, filters))
        return
    target = file.expanduser()
    if target.exists():
        raise SetupError(f"{target} already exists: remove it, or choose another name")
    counts = to.ask(lambda brain: _save(brain, target, filters, packed=gzip, quiet=json))
    if json:
        as_json({"file": str(target), **counts})
    else:
        beside = f", {counts['beside']} messages, questions and signals" if counts["beside"] else ""
        print(f"{target}: {counts['memories']} memories, {counts['history']} lines of history{beside}")


async def _print(brain: "OpenBrain", filters: dict[str, Any]) -> None:
    try:
        async for part in brain.export(**filters):
            sys.stdout.buffer.write(part)
    except asyncio.CancelledError:  # Ctrl-C
        say("stopped: what was printed is incomplete, without the last line with counts; name a FILE to continue it")
        raise
    finally:
        sys.stdout.buffer.flush()


async def _save(brain: "OpenBrain", target: Path, filters: dict[str, Any], *, packed: bool, quiet: bool) -> "Counts":
    from openbrain_cli.memories.transfer.download import save

    with progress("exported {task.completed:.0f} memories", quiet=quiet) as bar:
        task = bar.add_task("exporting", total=None)

        def show_progress(counts: "Counts") -> None:
            bar.update(task, completed=counts["memories"])

        try:
            return await save(brain, target, filters, packed=packed, progress=show_progress)
        except asyncio.CancelledError:  # Ctrl-C
            done = f"{bar.tasks[0].completed:.0f} memories are in {target.name}.part"
            say(f"stopped: {done}, which is incomplete; the same command does the rest")
            raise


def import_export(path: Path, to: Speaking, *, dry_run: bool, incomplete: bool, json: bool) -> int:
    """Import one file and report the result. Return the number of refused lines."""
    from openbrain_cli.memories.transfer.export_file import check

    checked = check(path)
    if checked.problem and not incomplete:
        raise Invalid(
            "", f"{path} is incomplete, {checked.problem}: export again, or add --incomplete to import what it has"
        )
    if checked.problem:
        say(f"note: {path}: {checked.problem}")
    totals = to.ask(lambda brain: _send(brain, path, checked, dry_run=dry_run, quiet=json))
    if json:
        as_json(asdict(totals))
    else:
        for refusal in totals.refusals:
            say(f"refused: line {refusal['line']}: {one_line(refusal['message'])}")
        print(totals.summary())
        if dry_run:
            print("nothing was changed: leave out --dry-run to do it")
    return totals.refused


async def _send(brain: "OpenBrain", path: Path, checked: "Checked", *, dry_run: bool, quiet: bool) -> "Totals":
    from openbrain_cli.memories.transfer.upload import send

    with progress(quiet=quiet) as bar:
        task = bar.add_task("importing", total=checked.size)
        try:
            return await send(
                brain,
                path,
                checked.header.export_id,
                dry_run=dry_run,
                cut=bool(checked.problem),
                progress=lambda done: bar.update(task, advance=done),
            )
        except asyncio.CancelledError:  # Ctrl-C
            share = f"{bar.tasks[0].percentage:.0f} % of {path} is imported"
            say(f"stopped: {'nothing was changed' if dry_run else share}; the same command does the rest")
            raise
