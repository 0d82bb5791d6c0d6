"""db: upgrade, check, first-keys, restored."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.operators.indexes.verify import restored
from openbrain_cli.options import AsJson, Data
from openbrain_cli.output import as_json, say
from openbrain_cli.profile import profile
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from openbrain.settings import Settings

app = new_app(
    no_args_is_help=True, help="The schema of the database at OPENBRAIN_TRUTH__URL, else of the one in the data folder."
)

Again = Annotated[bool, typer.Option("--again", help="Also for workspaces that have keys.")]
Schema = Annotated[bool, typer.Option("--schema", help="Only whether services of this version can run on it.")]
Patience = Annotated[int, typer.Option("--wait", min=0, help="Seconds to wait until the database answers.")]


@app.command()
@command("openbrain db upgrade --wait 60")
def upgrade(wait: Patience = 0, json: AsJson = False, data: Data = None) -> None:
    """Upgrade the schema. Concurrent upgrades are safe: one runs, the others wait."""
    from openbrain.adapters.sql.schema import commands

    url = _url(data, wait)
    before = commands.current(url)
    commands.upgrade(url)
    after = commands.current(url)
    if json:
        as_json({"before": before, "after": after})
    else:
        print(f"up to date at {after}" if before == after else f"upgraded from {before or 'nothing'} to {after}")


@app.command()
@command("openbrain db check", "openbrain db check --schema --wait 60 && openbrain run ingest")
def check(wait: Patience = 0, schema: Schema = False, json: AsJson = False, data: Data = None) -> None:
    """Check the database and its schema. The exit code is 1 if there is a problem.

    With --schema, only whether services of this version can run on the schema, as they can on that of a later version;
    --wait then waits for that too.
    """
    from openbrain.adapters.sql.schema import commands

    url = _url(data, 0 if schema else wait)
    problems = commands.wait_for_schema(url, wait) if schema else commands.check(url)
    if json:
        as_json({"revision": commands.current(url), "problems": list(problems)})
    else:
        print("\n".join(problems) if problems else f"well, at revision {commands.current(url)}")
    if problems:
        raise typer.Exit(exit_codes.REFUSED)


@app.command("first-keys")
@command("openbrain db first-keys", "openbrain db first-keys --json --again")
def first_keys(again: Again = False, json: AsJson = False, data: Data = None) -> None:
    """Make the first workspaces and print their keys, once. `openbrain up` does so itself.

    Anyone who can access the database may run this. Workspaces that already have a key get none, unless --again.
    """
    import asyncio

    _url(data)
    made = asyncio.run(_bootstrap_keys(profile(data=data).settings(), again=again))
    if json:
        as_json(made)
        return
    for workspace, secret in made.items():
        print(f"{workspace}  {secret}")
    if not made:
        say("there are keys already: make others with `openbrain keys create`, or use --again if all are lost")


app.command("restored")(restored)


async def _bootstrap_keys(settings: "Settings", *, again: bool) -> dict[str, str]:
    from openbrain.runtime.container import Container
    from openbrain_cli.operators.bootstrap_keys import PERMISSIONS, bootstrap_key, ensure_workspace

    made: dict[str, str] = {}
    async with Container(settings, shared=True) as container:
        for workspace in PERMISSIONS:
            await ensure_workspace(container.store.workspaces, container.clock, workspace)
            if again or not await container.store.api_keys.keys(workspace):
                made[workspace] = await bootstrap_key(container.store.api_keys, container.clock, workspace)
    return made


def _url(data: Data, wait: int = 0) -> str:
    """The database's address. Waits up to `wait` seconds until the database answers."""
    from openbrain.adapters.sql.schema import commands
    from openbrain.adapters.sql.store import EMBEDDED, FILE, store_url
    from openbrain.domain.errors import NotFound

    settings = profile(data=data).settings()
    if settings.truth.url == EMBEDDED and not (settings.data_dir / FILE).exists():
        raise NotFound(
            f"there is no database in {settings.data_dir} yet: `openbrain up` makes it, or set OPENBRAIN_TRUTH__URL"
        )
    url = store_url(settings.truth.url, settings.data_dir)
    if wait:
        commands.wait(url, wait)
    return url
