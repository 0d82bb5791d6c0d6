"""tick."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid, OpenBrainError, SetupError
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Connection, named_path
from openbrain_cli.output import as_json, one_line, plain, say
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.vault.ticks import TickAnswer
    from openbrain.settings import Settings

LOOK_S, PAUSE_S = 25, 2
NoAi = Annotated[bool, typer.Option("--no-ai", help="Do not ask the model.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing, and show the diff.")]
BareVault = Annotated[
    Path | None, typer.Option("--vault", parser=named_path, metavar="DIR", help="A vault that no server manages.")
]
Feed = Annotated[
    Path | None,
    typer.Option("--brain-feed", parser=named_path, metavar="DIR", help="With --vault: folder for a copy of the feed."),
]
Due = Annotated[bool, typer.Option("--due", help="Request the ticks that are due by the schedule, and exit.")]
Extract = Annotated[bool, typer.Option("--extract", help="Make arcs of new transcripts first.")]


@command(
    "openbrain tick",
    "openbrain tick --dry-run",
    "openbrain tick --no-ai --json",
    "openbrain tick --vault ~/notes --brain-feed ~/.agentihooks/brain-feed",
    "OPENBRAIN_TRUTH__URL=mysql+aiomysql://… openbrain tick --due",
)
def tick(
    to: Connection,
    no_ai: NoAi = False,
    dry_run: DryRun = False,
    extract: Extract = False,
    vault: BareVault = None,
    brain_feed: Feed = None,
    due: Due = False,
    json: AsJson = False,
) -> None:
    """Run a tick of the workspace's vault now, and show what was done. With --vault: of that folder, without a server.

    With --due, for a cron job, the ticks that are due by OPENBRAIN_TICK__SCHEDULE are requested in the database, each
    slot once, and the service `tick` runs them. The exit code is 1 if the tick or the model failed.
    """
    if due:
        count = _request_due(to, any((no_ai, dry_run, extract, vault, brain_feed)))
        as_json({"requested": count}) if json else print(f"{count} requested" if count else "nothing is due")
        return
    if vault is not None:
        from openbrain_cli.vault.bare_tick import tick_folder

        settings = to.profile.settings()
        report = asyncio.run(tick_folder(vault, brain_feed, settings, ai=not no_ai, dry_run=dry_run, extract=extract))
        as_json({"report": report}) if json else _tell(report)
        _refuse_failed_model(report)
        return
    if brain_feed is not None:
        raise Invalid("--brain-feed", "needs --vault; for a running brain use `openbrain brain sync DIR`")
    ended = to.ask(lambda brain: _until_ended(brain, ai=not no_ai, dry_run=dry_run, extract=extract))
    report = ended.report or {}
    if json:
        as_json(ended)
    else:
        _tell(report)
    if ended.error:
        raise OpenBrainError(f"the tick failed: {ended.error}")
    _refuse_failed_model(report)


def _request_due(to: Connection, others: bool) -> int:
    if others:
        raise Invalid("--due", "can't be combined with other options of a tick: the settings determine them")
    return asyncio.run(request_due_ticks(to.profile.settings()))


async def request_due_ticks(settings: "Settings") -> int:
    """Request the last slot of the schedule in the database, once per workspace with a vault, however often this runs
    and whoever else does. Return the number of ticks now on their way to the service."""
    from openbrain.runtime.container import Container
    from openbrain.usecases.tick_schedule import TickSchedule

    if not settings.tick.schedule or not settings.vaults.folders:
        raise SetupError("no tick is ever due: set OPENBRAIN_TICK__SCHEDULE and OPENBRAIN_VAULTS__FOLDERS")
    async with Container(settings, shared=True) as container:
        schedule = TickSchedule(
            container.store.ticks,
            container.clock,
            tuple(settings.vaults.folders),
            settings.tick.schedule,
            settings.tick.tuning.extract_at,
        )
        return await schedule.round()


def _refuse_failed_model(report: Mapping[str, Any]) -> None:
    if report.get("phases", {}).get("ai", {}).get("error"):
        raise typer.Exit(exit_codes.REFUSED)


async def _until_ended(brain: "OpenBrain", *, ai: bool, dry_run: bool, extract: bool) -> "TickAnswer":
    from uuid import uuid4

    job = await brain.request_tick(ai=ai, dry_run=dry_run, extract=extract, key=str(uuid4()))
    shown = None
    while not (seen := await brain.tick(job.job_id, wait=LOOK_S)).status.ended:
        if seen.error is None:
            continue
        if seen.error != shown:
            shown = seen.error
            say(f"postponed, and tried again for an hour (Ctrl-C leaves it to the server): {shown}")
        await asyncio.sleep(PAUSE_S)
    return seen


def _tell(report: Mapping[str, Any]) -> None:
    if "diff" in report:
        for line in str(report["diff"]).splitlines():
            print(plain(line))
    for line in _lines(report):
        say(line)


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    phases = report.get("phases", {})
    changes = report.get("changes", {"written": 0, "removed": 0})
    write, remove = ("to write", "to remove") if report.get("dry_run") else ("written", "removed")
    yield f"files {write}: {changes['written']}, {remove}: {changes['removed']}"
    ai = phases.get("ai", {})
    if ai.get("error"):
        yield f"the model failed: {one_line(ai['error'])}"
    result = phases.get("apply", {}).get("result", {})
    if result:
        yield f"recommendations applied: {len(result['done'])}, refused: {result['refused_count']}"
    for item in result.get("refused", ()):
        yield f"  {one_line(item['item'])}: {one_line(item['reason'])}"
    for path in phases.get("verify", {}).get("stats", {}).get("missing", ()):
        yield f"  {one_line(path)} was written but is missing"
    for item in report.get("problems", ()):
        yield f"{one_line(item['path'])}:{item['line']}: {one_line(item['reason'])}"
