"""The part of import that reads tables of other stores."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openbrain.domain.errors import Invalid
from openbrain_cli.importers.locations.source import Client
from openbrain_cli.memories.transfer import upload
from openbrain_cli.options import Speaking
from openbrain_cli.output import as_json, one_line, progress, say

if TYPE_CHECKING:
    from openbrain_cli.memories.transfer.foreign.conversion import Converted
    from openbrain_cli.memories.transfer.foreign.rows import Table

STORES = {
    *(Client.BRAIN_MEMORIES, Client.THOUGHTS, Client.GRAPHITI, Client.LETTA, Client.CLAUDE_MEM),
    *(Client.OPENCLAW_SESSIONS, Client.LOSSLESS_CLAW),
}
_SHOWN = 50


def tables(paths: Iterable[Path], database: str, client: Client) -> "list[Table]":
    """The known tables in these files and at that address; other files are left to the other importers."""
    from openbrain_cli.memories.transfer.foreign.locations import table_at, table_in

    named = client.value if client in STORES else ""
    named_tables = [table_at(database, named)] if database else []
    if client is not Client.AUTO and not named:
        return named_tables
    for item in paths:
        path = item.expanduser()
        table = table_in(path, named)
        if table is None and (named or path.suffix.lower() == ".sql"):
            if not path.exists():
                raise Invalid("PATHS", f"{path} is not there")
            raise Invalid("PATHS", f"{path} holds no {named or 'known table: name its kind with --from'}")
        if table is not None:
            named_tables.append(table)
    return named_tables


def import_table(
    table: "Table", to: Speaking, *, source_workspace: str, vectors_of: str, dry_run: bool, json: bool
) -> int:
    """Import one table and report the refused rows. Return their number."""
    from openbrain_cli.memories.transfer.export_file import check
    from openbrain_cli.memories.transfer.foreign.conversion import convert

    with tempfile.TemporaryDirectory(prefix="openbrain-import-") as folder:
        path = Path(folder) / "rows.ndjson"
        with _progress("reading: {task.completed} rows", quiet=json) as advance:
            converted = convert(
                table,
                path,
                agent=to.speaker,
                source_workspace=source_workspace,
                vectors_of=vectors_of,
                progress=advance,
            )
        checked = check(path)
        with _progress("importing: {task.completed} bytes", quiet=json) as advance:
            totals = to.ask(
                lambda brain: upload.send(brain, path, checked.header.export_id, dry_run=dry_run, progress=advance)
            )
    if json:
        as_json({"table": table.name, "from": table.origin, "source": asdict(converted), **asdict(totals)})
    else:
        _show(table, converted, totals)
    return converted.refused + totals.refused


def _show(table: "Table", converted: "Converted", totals: upload.Totals) -> None:
    say(f"{one_line(table.origin)}: {table.name}, {converted.rows} rows")
    remarks = [f"refused: row {refusal['row']}: {refusal['message']}" for refusal in converted.refusals]
    remarks += converted.notes
    remarks += [f"refused by the server: {refusal['message']}" for refusal in totals.refusals]
    for text in remarks[:_SHOWN]:
        say(one_line(text))
    if len(remarks) > _SHOWN:
        say(f"and {len(remarks) - _SHOWN} more: --json has up to {upload.REFUSALS} of each kind")
    if totals.vectors_problem:
        why = f"{totals.vectors_left} vectors not imported, their texts are embedded again: {totals.vectors_problem}"
        say(one_line(why))
    refused = f", {converted.refused} rows refused" if converted.refused else ""
    print(f"{totals.summary()}{refused}")
    if totals.dry_run:
        print("nothing was changed: leave out --dry-run to do it")


@contextmanager
def _progress(text: str, *, quiet: bool) -> Iterator[Callable[[int], Any]]:
    with progress(text, quiet=quiet) as bar:
        task = bar.add_task(text, total=None)
        yield lambda number: bar.update(task, advance=number)
