"""status: what runs, where, since when, and how it is."""

import asyncio
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
    """Tell what runs, where, since when, and how it is. Exit code 3 where nothing answers, 1 where it is not well."""
    found = asyncio.run(_found(to.profile))
    as_json(found) if json else _print(found)
    if found["status"] in ("stopped", "starting", "unreachable"):
        raise typer.Exit(exit_codes.UNREACHABLE)
    if found["status"] != "ok":
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


def _print(found: dict[str, Any]) -> None:
    if found["status"] == "stopped":
        print(f"no OpenBrain runs on {found['data']}: start one with `openbrain up`")
        return
    since = moment(datetime.fromisoformat(found["since"])) if "since" in found else ""
    process = f"  (pid {found['pid']}, since {since})" if since else ""
    print(f"OpenBrain {found.get('version', '')}".rstrip() + f" on {found.get('url', '...')}{process}")
    if "data" in found:
        print(f"data    {found['data']}")
    print(f"health  {_health_line(found)}")
    if found.get("writes"):
        print(f"writes  refused: {one_line(found['writes'])}")


def _health_line(found: dict[str, Any]) -> str:
    status: str = found["status"]
    if status in ("starting", "unreachable"):
        return status + (f": {one_line(found['problem'])}" if "problem" in found else "")
    down = [name for name, state in found["parts"].items() if state != "ok"]
    if down:
        return f"{status}: {' and '.join(down)} down; `openbrain doctor` says more"
    return f"{status}: {', '.join(found['parts'])}"
