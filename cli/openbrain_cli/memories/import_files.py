"""import, and its old name seed-memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import Invalid, TryLater
from openbrain_cli.importers.execution.plan import Action, Target
from openbrain_cli.importers.execution.spill_file import SpillFile
from openbrain_cli.importers.locations.scanning import (
    Client,
    Seen,
    Source,
    Wanted,
    absolute,
    gather,
    look_for_memories,
    sources,
)
from openbrain_cli.importers.records.mapping import FIELDS
from openbrain_cli.lazy_commands import command
from openbrain_cli.memories.export import import_export
from openbrain_cli.memories.transfer.tables import import_table, tables
from openbrain_cli.options import AsJson, Org, Project, Speaking, Workspace, named_path
from openbrain_cli.output import as_json, progress, say
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain_cli.importers.execution.plan import Plan
    from openbrain_cli.importers.execution.upload import Sent
    from openbrain_cli.importers.found_memory import FoundMemory, Scan

Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        parser=named_path,
        metavar="[PATHS]...",
        help="Files or folders; without any, only lists what can be imported.",
    ),
]
From = Annotated[Client, typer.Option("--from", help="Read the paths as this kind, or import only this kind.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Discover = Annotated[bool, typer.Option("--discover", help="Only list what can be imported from the home folder.")]
Everything = Annotated[bool, typer.Option("--all", help="Import everything that --discover lists.")]
Incomplete = Annotated[
    bool, typer.Option("--incomplete", help="Import an OpenBrain export that was cut off, as far as it goes.")
]
Database = Annotated[
    str,
    typer.Option(
        envvar="OPENBRAIN_IMPORT_DATABASE",
        show_envvar=True,
        metavar="URL",
        help="Database of an earlier OpenBrain: mysql://USER:PASSWORD@HOST/NAME or sqlite:///FILE. "
        "It is only read. Set it in the environment to hide the password from other users.",
    ),
]
SourceWorkspace = Annotated[
    str, typer.Option(metavar="ID", help="Workspace whose rows to import, if a table has several.")
]
VectorsOf = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="Model of the vectors in a table of thoughts; they are kept if the index has that model.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="FIELD=COLUMN", help=f"Column of a field in CSV and NDJSON: {', '.join(FIELDS)}."),
]


@command(
    "openbrain import --discover",
    "openbrain import --all --dry-run",
    "openbrain import ~/src/shop --from cursor",
    "openbrain import ~/.claude/projects/-home-ada-src-shop/memory --project shop",
    "openbrain import notes.csv --map content=Note --map tags=Labels",
    "openbrain import backup.ndjson",
    "openbrain import brain_memories.sql --source-workspace 1 --dry-run",
    "openbrain import --database mysql://reader@db.example.org/brain",
    "openbrain import thoughts.ndjson --agent main",
    "openbrain import thoughts.ndjson --agent main --vectors-of nomic-embed-text",
)
def import_files(
    paths: Paths = None,
    *,
    to: Speaking,
    client: From = Client.AUTO,
    columns: Columns = None,
    org: Org = None,
    project: Project = None,
    database: Database = "",
    source_workspace: SourceWorkspace = "",
    vectors_of: VectorsOf = "",
    discover: Discover = False,
    everything: Everything = False,
    incomplete: Incomplete = False,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Import what agents and people left in files: memory folders, instructions, notes, records, exports.

    The kind of a path is detected from its structure. A section that did not change since the last import is skipped;
    an edited one supersedes its memory; one that is gone is reported, and its memory stays. A forgotten memory comes
    back as long as its section is in the file. Without a path nothing is imported, only listed.

    A file that `openbrain export` wrote is imported by ids: with an admin's key into an empty workspace as it was, else
    each live memory like any other. Repeat the command to complete an interrupted import. The tables `brain_memories`
    and `thoughts` of an earlier OpenBrain, as a dump (.sql), a database, CSV or NDJSON, are imported in the same way,
    row by row.
    """
    if paths and not discover and (own := _own_exports(paths)):
        if len(own) < len(paths) or org or project or columns:
            raise Invalid("", "import OpenBrain exports separately, without --org, --project and --map")
        refused = [import_export(path, to, dry_run=dry_run, incomplete=incomplete, json=json) for path in own]
        if any(refused):
            raise typer.Exit(exit_codes.REFUSED)
        return
    if not discover and (own_tables := tables(paths or [], database, client)):
        if len(own_tables) < len(paths or []) + bool(database) or org or project or columns:
            raise Invalid("", "import tables of other stores separately, without --org, --project and --map")
        ends = [
            import_table(
                table, to, source_workspace=source_workspace, vectors_of=vectors_of, dry_run=dry_run, json=json
            )
            for table in own_tables
        ]
        if any(ends):
            raise typer.Exit(exit_codes.REFUSED)
        return
    if vectors_of:
        raise Invalid("--vectors-of", "is for tables of thoughts: nothing else has vectors")
    wanted = Wanted(homes=to.profile.homes(), client=client, columns=_columns(columns or []))
    places = sources(paths or [], wanted)
    if discover or not (paths or everything):
        _discover(places, client, json=json)
    else:
        named = [absolute(item) for item in paths or []]
        _run(places, client, Target(org or to.profile.org, project), to, named=named, dry_run=dry_run, json=json)


def _own_exports(paths: Iterable[Path]) -> list[Path]:
    from openbrain_cli.memories.transfer.export_file import is_export

    return [path for item in paths if is_export(path := item.expanduser())]


@command("openbrain seed-memory --dry-run", "openbrain seed-memory --path ~/.claude/projects --agent ada")
def seed_memory(
    *,
    to: Speaking,
    workspace: Workspace = "",
    path: Annotated[
        Path | None,
        typer.Option(parser=named_path, metavar="<path>", help="Folder to import; ~/.claude/projects if left out."),
    ] = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Import Claude Code's memory folders as the original OpenBrain did: words in `backticks` become tags."""
    if workspace:
        say("note: --workspace is ignored: the key determines the workspace; choose it with --key-file")
    homes = to.profile.homes()
    places = look_for_memories(path or homes.claude / "projects", homes)
    from openbrain_cli.importers.seeded import seeded

    _run(places, Client.AUTO, Target(to.profile.org, None), to, change=seeded, dry_run=dry_run, json=json)


def _columns(given: Sequence[str]) -> dict[str, str]:
    chosen = {}
    for item in given:
        name, _, column = item.partition("=")
        if name not in FIELDS or not column:
            raise Invalid("--map", f"must be FIELD=COLUMN with a field of {', '.join(FIELDS)}")
        chosen[name] = column
    return chosen


def _discover(places: Iterable[Source], client: Client, *, json: bool) -> None:
    from openbrain_cli.importers.execution import report

    with SpillFile() as spill_file:
        scan, seen = _gathered(places, client, spill_file, quiet=json)
    if json:
        as_json({"found": report.seen_as_data(seen), "skipped": report.notes_as_data(scan.notes)})
        return
    report.notes(scan.notes)
    report.places(seen)
    print(
        "import one of them with `openbrain import PATH`, all with `openbrain import --all`"
        if seen
        else "nothing to import was found: name a file or a folder, or say what it is with --from"
    )


def _run(
    places: Iterable[Source],
    client: Client,
    target: Target,
    to: Speaking,
    *,
    named: Sequence[Path] = (),
    change: "Callable[[FoundMemory], FoundMemory] | None" = None,
    dry_run: bool,
    json: bool,
) -> None:
    from openbrain_cli.importers.execution import upload
    from openbrain_cli.importers.execution.plan import plan
    from openbrain_cli.importers.locations.nothing_found import reasons, without_memories

    done = _Done()
    with _telling(done), SpillFile() as spill_file:
        scan, seen = _gathered(places, client, spill_file, change, quiet=json)
        empty = without_memories(named, [item.path for item in seen])
        scan = replace(scan, notes=(*scan.notes, *reasons(empty, client, scan.notes)))

        async def planning(brain: "OpenBrain") -> "tuple[Plan, Sent | None]":
            planned = plan(scan, await upload.existing(brain), target)
            return planned, None if dry_run else await _send(brain, planned, target, done, quiet=json)

        planned, sent = to.ask(planning)
    _report(planned, seen, sent, json=json)
    if (sent is not None and sent.refused) or (empty and not planned.vanished):
        raise typer.Exit(exit_codes.REFUSED)


def _gathered(
    places: Iterable[Source],
    client: Client,
    spill_file: SpillFile,
    change: "Callable[[FoundMemory], FoundMemory] | None" = None,
    *,
    quiet: bool,
) -> "tuple[Scan, list[Seen]]":
    """Read the places, and show the number of sections read so far."""
    seen: list[Seen] = []
    with progress("reading: {task.completed} sections", quiet=quiet) as bar:
        task = bar.add_task("reading", total=None)

        def read(memory: "FoundMemory") -> "FoundMemory":
            bar.update(task, advance=1)
            return spill_file.put(change(memory) if change else memory)

        return gather(places, client, read, seen.append), seen


@dataclass(slots=True)
class _Done:
    """The progress of an import."""

    stored: int = 0
    of: int = 0


@contextmanager
def _telling(done: _Done) -> Iterator[None]:
    """After Ctrl-C, report what is stored and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        what = f"{done.stored} of {done.of} sections are stored" if done.of else "nothing was changed"
        say(f"stopped: {what}; repeat the command to continue")
        raise


async def _send(brain: "OpenBrain", planned: "Plan", target: Target, done: _Done, *, quiet: bool) -> "Sent":
    from openbrain_cli.importers.execution import upload

    done.of = len(planned.of(Action.CREATE, Action.SUPERSEDE, Action.REFILE))
    with progress(quiet=quiet) as bar:
        task = bar.add_task("importing", total=done.of)

        def stored(sections: int) -> None:
            done.stored += sections
            bar.update(task, completed=done.stored)

        try:
            return await upload.send(brain, planned, target, stored)
        except TryLater as error:
            message = f"{error} ({done.stored} of {done.of} are imported: the same command does the rest)"
            raise TryLater(message) from error


def _report(planned: "Plan", seen: "Sequence[Seen]", sent: "Sent | None", *, json: bool) -> None:
    from openbrain_cli.importers.execution import report

    if json:
        as_json(report.as_data(planned, seen, sent))
        return
    report.detected(seen)
    report.notes(planned.notes)
    if sent is None:
        report.steps(planned)
    report.vanished(planned)
    if sent is not None:
        report.refused(sent)
    print("\n".join(report.summary(planned, sent)))
