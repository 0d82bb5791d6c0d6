"""vault: init, extract, cluster."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from openbrain.domain.errors import Invalid, NotFound
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Data, file_bytes, named_path
from openbrain_cli.output import as_json, one_line, say
from openbrain_cli.profile import profile

app = new_app(no_args_is_help=True, help="The vault's folders, and arcs from the transcripts of sessions.")

Folder = Annotated[Path, typer.Argument(parser=named_path, metavar="DIR", help="The vault's folder.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list what would be written.")]


@app.command()
@command("openbrain vault init ~/vault")
def init(folder: Folder, *, json: AsJson = False) -> None:
    """Create a vault's folders, and a page that describes them. Existing files stay unchanged."""
    from openbrain_cli.vault.new_vault import make_vault

    root = folder.expanduser().absolute()
    try:
        missing = make_vault(root)
    except OSError as error:
        raise Invalid("DIR", f"{root} can't be created: {error.strerror}") from None
    if json:
        as_json({"vault": str(root), "made": missing})
        return
    print(f"{root}  folders created: {len(missing)}")
    say(f"""next: OPENBRAIN_VAULTS__FOLDERS='{{"default": "{root}"}}' gives it to the workspace `default`""")


@app.command()
@command(
    "openbrain vault extract --since 26h",
    "openbrain vault extract --project shop | openbrain vault cluster --vault ~/vault",
)
def extract(
    *,
    since: Annotated[str, typer.Option(help="Begin: a number with s, m, h, d or w, ago; or an ISO time.")] = "24h",
    until: Annotated[str, typer.Option(help="End, in the same form; now if left out.")] = "",
    project: Annotated[str, typer.Option(help="Part of the name of the project's folder of transcripts.")] = "",
    min_turns: Annotated[int, typer.Option("--min-turns", min=0, help="User turns at least, with tool results.")] = 5,
    projects_dir: Annotated[
        Path | None, typer.Option("--projects-dir", help="Transcripts; ~/.claude/projects if left out.")
    ] = None,
) -> None:
    """Print counts of what happened in the sessions of a period, as JSON."""
    from openbrain_tick.observe.transcripts import extracted
    from openbrain_tick.plan.extract import Filter, window

    within = window(since, until, datetime.now(UTC))
    folder = (projects_dir or profile().homes().claude / "projects").expanduser()
    wanted = Filter(project=project or None, min_turns=min_turns)
    as_json(extracted(folder, within, wanted, lambda path: say(f"{path} can't be read: skipped")))


@app.command()
@command(
    "openbrain vault cluster --vault ~/vault --bundle bundle.json --dry-run",
    "openbrain vault extract | openbrain vault cluster --vault ~/vault",
)
def cluster(
    *,
    vault: Annotated[Path | None, typer.Option(parser=named_path, metavar="<path>", help="The vault's folder.")] = None,
    bundle: Annotated[Path | None, typer.Option(help="Output of `extract`; stdin if left out.")] = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out-dir",
            parser=named_path,
            metavar="<path>",
            help="The vault in the original's form: <vault>/clusters/<day>.",
        ),
    ] = None,
    dry_run: DryRun = False,
    json: AsJson = False,
    data: Data = None,
) -> None:
    """Make arcs from sessions. A session stays in its arc, and text that was written into an arc is kept."""
    from openbrain_cli.vault.cluster import clustered
    from openbrain_tick.plan.extract import read_bundle

    root = _vault(vault, out_dir)
    parsed = read_bundle(file_bytes(bundle or Path("-")))
    planned = asyncio.run(clustered(root, parsed.sessions, profile(data=data).settings(), dry_run=dry_run))
    changes, problems = planned.changes(), planned.problems
    if json:
        as_json(
            {
                "dry_run": dry_run,
                "created": [change.path for change in changes if change.before is None],
                "extended": [change.path for change in changes if change.before is not None],
                "problems": [{"path": item.path, "line": item.line, "reason": item.reason} for item in problems],
            }
        )
        return
    for change in changes:
        print(f"{'create' if change.before is None else 'extend'}  {one_line(change.path)}")
    for problem in problems:
        say(f"{problem.path}:{problem.line}: {problem.reason}")


def _vault(vault: Path | None, out_dir: Path | None) -> Path:
    if vault is None and out_dir is not None and out_dir.expanduser().absolute().parent.name == "clusters":
        vault = out_dir.expanduser().absolute().parents[1]
    if vault is None:
        raise Invalid("--vault", "name the vault's folder")
    if not vault.expanduser().is_dir():
        raise NotFound(f"there is no vault at {vault}: make one with `openbrain vault init {vault}`")
    return vault.expanduser()
