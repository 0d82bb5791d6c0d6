"""status: shows what runs, where, since when, and its health."""

import asyncio
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, moment, one_line
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from openbrain.contract.system import Health
    from openbrain_cli.profile import Profile


@command("openbrain status", "openbrain status --json | jq -r .url")
def status(*, to: Connection, json: AsJson = False) -> None:
    """Show what runs, where, since when, its health, and writes of tools and hooks that it has not received. The exit
    code is 3 if nothing answers, 1 if unhealthy."""
    from openbrain_cli.system.diagnosis.unsent_writes import unsent_writes

    report = asyncio.run(_found(to.profile))
    unsent = unsent_writes(to.profile.data_dir)
    report |= {"unsent": [asdict(outbox) for outbox in unsent]} if unsent else {}
    as_json(report) if json else _print(report)
    for outbox in () if json else unsent:
        print(f"unsent  {one_line(str(outbox))}")
    if report["status"] in ("stopped", "starting", "unreachable"):
        raise typer.Exit(exit_codes.UNREACHABLE)
    if report["status"] != "ok":
        raise typer.Exit(exit_codes.REFUSED)


async def _found(profile: "Profile") -> dict[str, Any]:
    from openbrain.domain.errors import OpenBrainError
    from openbrain_cli.system.embedded.instance import running_instance

    instance = None if profile.named else running_instance(profile.data_dir)
    local = {"data": str(profile.data_dir)} if not profile.named else {}
    if instance is None and not profile.named:
        return {"status": "stopped", **local}
    url = profile.url if instance is None else instance.url
    here = {**local, **({} if instance is None else {"pid": instance.pid, "since": instance.since.isoformat()})}
    if not url:
        return {"status": "starting", **here}
    try:
        health = await _health(url)
    except OpenBrainError as error:
        return {"status": "unreachable", "url": url, **here, "problem": str(error)}
    return {
        "status": health.status,
        "url": url,
        **here,
        "version": health.version,
        "parts": health.parts,
        "writes": health.writes,
    }


async def _health(url: str) -> "Health":
    from openbrain.client import OpenBrain

    async with OpenBrain(url, allow_http=True, timeout_s=10) as brain:  # no key is sent
        return await brain.health()


def _print(report: dict[str, Any]) -> None:
    if report["status"] == "stopped":
        print(f"no OpenBrain runs on {report['data']}: start one with `openbrain up`")
        return
    since = moment(datetime.fromisoformat(report["since"])) if "since" in report else ""
    process = f"  (pid {report['pid']}, since {since})" if since else ""
    print(f"OpenBrain {report.get('version', '')}".rstrip() + f" on {report.get('url', '...')}{process}")
    if "data" in report:
        print(f"data    {report['data']}")
    print(f"health  {_health_line(report)}")
    if report.get("writes"):
        print(f"writes  refused: {one_line(report['writes'])}")


def _health_line(report: dict[str, Any]) -> str:
    status: str = report["status"]
    if status in ("starting", "unreachable"):
        return status + (f": {one_line(report['problem'])}" if "problem" in report else "")
    down = [name for name, state in report["parts"].items() if state != "ok"]
    if down:
        return f"{status}: {' and '.join(down)} down; `openbrain doctor` says more"
    return f"{status}: {', '.join(report['parts'])}"
