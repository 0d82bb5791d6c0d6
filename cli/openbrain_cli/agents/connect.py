"""connect."""

import asyncio
import hashlib
import os
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from openbrain.adapters.local.transcript_consent import allow, answer
from openbrain.domain.errors import Forbidden, Invalid, NotFound, OpenBrainError, SetupError, TryLater
from openbrain_cli.agents.clients import CLIENTS, Bridge, Client
from openbrain_cli.agents.config_edits import shown
from openbrain_cli.agents.connections import Change, Connection, write
from openbrain_cli.agents.hooks.events import undelivered
from openbrain_cli.agents.openclaw_turn import host_program, turn_is_kept
from openbrain_cli.agents.round_trip import tools_answer
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import Connection as Options
from openbrain_cli.output import plain, say
from openbrain_cli.system.shell.program import own_program

if TYPE_CHECKING:
    from openbrain_cli.profile import Profile

CHECK_S: Final = 10
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

Name = Annotated[str, typer.Argument(metavar="CLIENT", help=", ".join(CLIENTS) + ".")]
As = Annotated[str, typer.Option("--agent", help="Agent that memories are stored under; else the client's name.")]
Print = Annotated[bool, typer.Option("--print", help="Only print the files and the entries that would be added.")]
Remove = Annotated[bool, typer.Option("--remove", help="Undo the connection, and revoke the key.")]
InProject = Annotated[bool, typer.Option("--project", help="Connect only the project in this folder.")]
Redirect = Annotated[
    bool, typer.Option("--redirect-memory-files", help="Store in OpenBrain what the client writes to its memory files.")
]
RecallPrompts = Annotated[
    bool, typer.Option("--recall-prompts", help="Show the agent related memories with each prompt.")
]
ContextEngine = Annotated[
    Path | None,
    typer.Option("--context-engine", metavar="DIR", help="Also store OpenClaw's turns, with the plugin built in DIR."),
]


@command(
    "openbrain connect claude-code",
    "openbrain connect codex --print",
    "openbrain connect gemini --project",
    "openbrain connect openclaw --agent main --context-engine integrations/openclaw",
    "openbrain connect claude-code --remove",
)
def connect(
    client: Name,
    *,
    to: Options,
    agent: As = "",
    print_only: Print = False,
    remove: Remove = False,
    project: InProject = False,
    redirect_memory_files: Redirect = False,
    recall_prompts: RecallPrompts = False,
    context_engine: ContextEngine = None,
) -> None:
    """Add the brain's tools and hooks to a client's configuration. Its agent has them from its next session on.

    The agent gets its own key, bound to its name. Other settings in the files stay; a copy of each file is kept, and
    --remove restores it. One tool call checks that the connection works.
    """
    chosen = _client(client, project=project)
    profile = to.profile
    folder = Path.cwd() if project else None
    connection = Connection(profile.data_dir / "agents" / _folder(chosen.name, folder))
    if remove:
        _removed(connection, chosen, to)
        return
    name = agent or chosen.name
    if not _AGENT.fullmatch(name):
        raise Invalid("--agent", "must be 1 to 64 letters, digits, '.', '_' or '-', and begin with a letter or digit")
    places, plugin = profile.client_places(folder), _plugin(chosen, context_engine)
    if print_only:
        bridge = _bridge(profile, connection, name, "ob_...", plugin)
        for edit in chosen.edits(places, bridge):
            print(plain(f"{edit.path}:\n{shown(edit)}"))
        return
    if not profile.runs_here and not profile.named:
        profile.url  # noqa: B018 - raises an error that says what to start or to name
    # A file that can't be changed is reported before a key is made.
    connection.changes(chosen.edits(places, _bridge(profile, connection, name, "", plugin)))
    secret, key_id = _key(connection, chosen, name, to)
    bridge = _bridge(profile, connection, name, secret, plugin)
    changes = connection.changes(chosen.edits(places, bridge))
    facts: dict[str, object] = {"client": chosen.name, "agent": name, "key_id": key_id, "url": _url(profile)}
    facts |= {"data": str(profile.data_dir), "allow_http": profile.allows_http}
    facts |= {"redirect_memory_files": redirect_memory_files, "recall_prompts": recall_prompts}
    connection.keep(changes, facts)
    write(changes)
    _tell(changes)
    if chosen.speaks_mcp:
        tools = tools_answer([str(bridge.program), *bridge.arguments])
        print(f"{chosen.title} is connected as {name}: {len(tools)} tools answer")
    else:
        asyncio.run(_reached(profile, secret))
        print(f"{chosen.title} is connected as {name}: the brain answers its key")
    if left := undelivered(connection.folder, facts):
        say(f"{left} writes of earlier hooks wait in {connection.folder}: the next hook sends them")
    if plugin is not None:
        _prove_turn(profile, secret)
    _ask_for_transcripts(profile)
    say(f"next: {chosen.next_step}")


def _prove_turn(profile: "Profile", secret: str) -> None:
    """Run one turn with OpenClaw itself, if it is installed. A failure keeps the configuration: a running gateway
    must be restarted before it uses it."""
    program = host_program()
    if program is None:
        say("`openclaw` is not on the PATH: skipped the test turn")
        return
    say("running one OpenClaw turn as a test, with one model call ...")
    try:
        print(f"test turn: {asyncio.run(turn_is_kept(program, profile, secret))} messages were stored, then erased")
    except SetupError as error:
        say(f"the test turn failed: {error}")
        say("stop or restart OpenClaw's gateway, then run the same command again")


def _ask_for_transcripts(profile: "Profile") -> None:
    """Ask once; transcripts stay unread until the user agrees."""
    if answer(profile.data_dir) is not None:
        return
    if sys.stdin.isatty():
        question = "May OpenBrain read the transcripts of this machine's agents, for lessons, decisions and the vault?"
        consent = typer.confirm(question, default=False, err=True)
        allow(profile.data_dir, profile.homes().claude / "projects", read=consent)
    else:
        say("OpenBrain does not read agents' transcripts; `openbrain transcripts on` allows it")


def _client(name: str, *, project: bool) -> Client:
    client = CLIENTS.get(name)
    if client is None:
        raise NotFound(f"{name!r} is not a supported client: {', '.join(CLIENTS)}")
    if project and not client.has_projects:
        raise Invalid("--project", f"{client.title} has no configuration for a single project: leave it out")
    return client


def _folder(client: str, project: Path | None) -> str:
    """Name of the connection's folder: one for each client, and one for each client and project."""
    if project is None:
        return client
    return f"{client}@{hashlib.sha256(os.fsencode(project)).hexdigest()[:12]}"


def _url(profile: "Profile") -> str:
    """'' for a brain on this machine, because its port may change."""
    return "" if profile.runs_here else profile.url


def _plugin(client: Client, folder: Path | None) -> Path | None:
    """Return the plugin's folder. Raise `Invalid` if it contains no built plugin."""
    if folder is None:
        return None
    if client.name != "openclaw":
        raise Invalid("--context-engine", f"{client.title} has no context engine: only openclaw does")
    if not (folder / "openclaw.plugin.json").is_file() or not (folder / "dist" / "index.js").is_file():
        raise Invalid("--context-engine", f"{folder} has no built plugin: `npm ci && npm run build` in its sources")
    return folder.resolve()


def _bridge(
    profile: "Profile", connection: Connection, agent: str, secret: str, context_engine: Path | None = None
) -> Bridge:
    url = profile.url if profile.named or profile.runs_here else ""
    where = ("--data", str(profile.data_dir)) if not url or profile.runs_here else ("--url", url)
    return Bridge(
        program=own_program(),
        # --agent too: if the bridge has to start a brain itself, it calls it with that brain's own key.
        arguments=("mcp", *where, "--key-file", str(connection.key_file), "--agent", agent),
        connection=connection.folder,
        url=url,
        secret=secret,
        context_engine=context_engine,
    )


def _key(connection: Connection, client: Client, agent: str, to: Options) -> tuple[str, str]:
    """The agent's key and its id: the stored key if it still works, else a new one."""
    known = connection.record()
    if known is not None and known.get("agent") == agent and known.get("url") == _url(to.profile):
        secret = connection.key_file.read_text(encoding="utf-8").strip() if connection.key_file.is_file() else ""
        if secret and asyncio.run(_opens(to.profile, secret)):
            return secret, str(known["key_id"])
    elif known is not None:
        raise SetupError(
            f"{client.title} is connected as {known.get('agent')} already: "
            f"`openbrain connect {client.name} --remove` first"
        )
    try:
        made = to.ask(
            lambda brain: brain.create_key(
                name=f"{client.title} on {platform.node()}"[:100],
                permissions=[permission.value for permission in client.permissions],
                agent_id=agent,
            )
        )
    except Forbidden:
        raise Forbidden(
            f"{to.profile.key_place()} may not create keys: give an admin's key with --key-file, or ask an admin to "
            f"run `openbrain connect`"
        ) from None
    connection.folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(connection.key_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{made.key}\n")
    return made.key, made.id


async def _opens(profile: "Profile", secret: str) -> bool:
    try:
        await _reached(profile, secret)
    except OpenBrainError:
        return False
    return True


async def _reached(profile: "Profile", secret: str) -> None:
    from openbrain.client import OpenBrain

    async with OpenBrain(profile.url, secret, allow_http=profile.allows_http, timeout_s=CHECK_S) as brain:
        await brain.whoami()


def _removed(connection: Connection, client: Client, to: Options) -> None:
    known = connection.record()
    if known is None:
        say(f"{client.title} is not connected: there is nothing to remove")
        return
    if waiting := undelivered(connection.folder, known):
        raise TryLater(
            f"{waiting} writes of {client.title}'s hooks wait for the brain in {connection.folder}: start the brain "
            "and repeat this, or delete outbox.sqlite3 there to lose them"
        )
    changes = connection.removals()
    write(changes)
    _tell(changes)
    try:
        to.ask(lambda brain: brain.revoke_key(str(known["key_id"])))
    except NotFound:
        pass
    except OpenBrainError as error:
        say(f"the key could not be revoked ({error}): run `openbrain keys revoke {known['key_id']}` later")
    connection.forget()
    print(f"{client.title} is no longer connected")


def _tell(changes: Sequence[Change]) -> None:
    for change in changes:
        if change.after == change.before:
            continue
        done = "removed" if not change.after else "changed" if change.before else "written"
        say(f"{done}  {change.path}")
