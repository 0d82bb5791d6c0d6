"""import, and its old name seed-memory."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.errors import TryLater
from openbrain_cli import exit_codes
from openbrain_cli.importing.places import Client, look, look_for_memories
from openbrain_cli.importing.planning import Action, Target
from openbrain_cli.lazily import command
from openbrain_cli.options import AsJson, Org, Project, Speaking, Workspace
from openbrain_cli.output import as_json, console, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain_cli.importing.found import Scan
    from openbrain_cli.importing.planning import Plan
    from openbrain_cli.importing.sending import Sent

Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[PATHS]...", help="Files, projects or memory folders; else the usual places."),
]
From = Annotated[Client, typer.Option("--from", help="Only Claude Code's files, or only AGENTS.md.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


@command(
    "openbrain import --dry-run",
    "openbrain import",
    "openbrain import ~/src/shop --from agents",
    "openbrain import ~/.claude/projects/-home-ada-src-shop/memory --project shop",
)
def import_files(
    paths: Paths = None,
    *,
    to: Speaking,
    client: From = Client.AUTO,
    org: Org = None,
    project: Project = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Import what agents left in files: Claude Code's memory folders, CLAUDE.md and its rules, AGENTS.md.

    A section that did not change since the last import does nothing, an edited one supersedes what it said before, one
    that is gone is reported and left. A memory that was forgotten comes back as long as its section is in the file.
    """
    scan = look(paths or [], to.profile.homes(), client)
    _run(scan, Target(org or to.profile.org, project), to, dry_run=dry_run, json=json)


@command("openbrain seed-memory --dry-run", "openbrain seed-memory --path ~/.claude/projects --agent ada")
def seed_memory(
    *,
    to: Speaking,
    workspace: Workspace = "",
    path: Annotated[Path | None, typer.Option(help="Else ~/.claude/projects.")] = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Import Claude Code's memory folders: the original's name for `openbrain import --from claude`."""
    if workspace:
        say("note: the workspace is the key's: --workspace is not read; choose with --key-file")
    homes = to.profile.homes()
    scan = look_for_memories(path or homes.claude / "projects", homes)
    _run(scan, Target(to.profile.org, None), to, dry_run=dry_run, json=json)


def _run(scan: "Scan", target: Target, to: Speaking, *, dry_run: bool, json: bool) -> None:
    from openbrain_cli.importing import sending
    from openbrain_cli.importing.planning import plan

    async def whole(brain: "OpenBrain") -> "tuple[Plan, Sent | None]":
        planned = plan(scan, await sending.existing(brain), target)
        return planned, None if dry_run else await _send(brain, planned, target, quiet=json)

    planned, sent = to.ask(whole)
    _report(planned, sent, json=json)
    if sent is not None and sent.refused:
        raise typer.Exit(exit_codes.REFUSED)


async def _send(brain: "OpenBrain", planned: "Plan", target: Target, *, quiet: bool) -> "Sent":
    from rich.progress import Progress

    from openbrain_cli.importing import sending

    todo = len(planned.of(Action.CREATE, Action.SUPERSEDE, Action.REFILE))
    shown = sys.stderr.isatty() and not quiet
    with Progress(console=console(stderr=True), disable=not shown, transient=True) as progress:
        task = progress.add_task("importing", total=todo)
        try:
            return await sending.send(brain, planned, target, lambda done: progress.update(task, advance=done))
        except TryLater as error:
            done = round(progress.tasks[0].completed)
            message = f"{error} ({done} of {todo} are imported: the same command does the rest)"
            raise TryLater(message) from error


def _report(planned: "Plan", sent: "Sent | None", *, json: bool) -> None:
    from openbrain_cli.importing import report

    if json:
        as_json(report.as_data(planned, sent))
        return
    report.notes(planned)
    if sent is None:
        report.steps(planned)
    report.vanished(planned)
    if sent is not None:
        report.refused(sent)
    _summary(report.summary(planned, sent))


def _summary(lines: Sequence[str]) -> None:
    for line in lines:
        print(line)
