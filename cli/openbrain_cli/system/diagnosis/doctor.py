"""doctor."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, one_line, progress, show, table
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from rich.text import Text

    from openbrain_cli.profile import Profile
    from openbrain_cli.system.diagnosis.check_result import CheckResult


@command("openbrain doctor", "openbrain doctor --json | jq -r '.checks[] | select(.status != \"green\") | .problems[]'")
def doctor(*, to: Connection, json: AsJson = False) -> None:
    """Test the running system end to end: remember, find by keyword and by meaning, forget. Also check everything
    it depends on for settings that lose data silently. The exit code is 1 if a check is red."""
    from openbrain_cli.system.diagnosis.check_result import Status

    findings = asyncio.run(_all(to.profile, quiet=json))
    red = any(finding.status is Status.RED for finding in findings)
    if json:
        as_json({"well": not red, "checks": [asdict(finding) for finding in findings]})
    else:
        show(table("", "what", "version", "ms", "to do", rows=[_row(finding) for finding in findings]))
        print(_verdict(findings, red=red))
    if red:
        raise typer.Exit(exit_codes.REFUSED)


def _verdict(findings: "Sequence[CheckResult]", *, red: bool) -> str:
    if red:
        return 'a check is red: see the column "to do"'
    tried = all(finding.name != "loop" for finding in findings)  # else a step of it stands there
    return "the system works end to end" if tried else "no check is red, but storing and finding was not tried"


async def _all(profile: "Profile", *, quiet: bool) -> "Sequence[CheckResult]":
    from openbrain_cli.system.diagnosis.examination import examine

    with progress("{task.description}", quiet=quiet) as bar:
        task = bar.add_task("beginning", total=None)
        return [finding async for finding in examine(profile, lambda step: bar.update(task, description=step))]


def _row(finding: "CheckResult") -> "tuple[Text | str, ...]":
    from rich.text import Text

    ms = "" if finding.ms is None else f"{finding.ms:.1f}"
    version = f"{finding.product} {finding.version}".strip()
    status = Text(finding.status.value, style=finding.status.value)
    return status, finding.name, one_line(version), ms, one_line("; ".join(finding.problems))
