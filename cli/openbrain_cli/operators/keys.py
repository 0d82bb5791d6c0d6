"""keys: create, list, rotate, revoke."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.access.toolsets import choice, chosen
from openbrain.domain.errors import Invalid, SetupError
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Connection, Workspace, given, refuse_empty
from openbrain_cli.output import as_json, day, moment, one_line, say, show, table

if TYPE_CHECKING:
    from io import FileIO

    from openbrain.client import OpenBrain
    from openbrain.contract.admin.access import KeyAnswer, KeyCreated

app = new_app(no_args_is_help=True, help="Keys give access to a workspace: to one agent, with some permissions.")

Permissions = Annotated[list[str], typer.Option("--permission", help="brain.read, brain.write, admin ...; repeatable.")]
KeyAgent = Annotated[str | None, typer.Option("--agent", help="Agent that the key belongs to.")]
Orgs = Annotated[list[str] | None, typer.Option("--org", help="Only this org; repeatable. Every org if left out.")]
ActAs = Annotated[list[str] | None, typer.Option("--act-as", help="Agent that it may act as, too; * for any.")]
Hours = Annotated[int | None, typer.Option("--expires-in", min=1, help="Hours until it expires.")]
RateLimit = Annotated[int | None, typer.Option("--rate-limit", min=1, help="Maximum number of requests per minute.")]
Toolsets = Annotated[
    list[str] | None,
    typer.Option("--toolset", help=f"MCP tools that it lists over HTTP in addition to core: {choice()}; repeatable."),
]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="Id of a key, as `keys list` shows it.")]
Overlap = Annotated[
    float, typer.Option(min=0, max=2160, help="Hours for which both keys work; 0 ends the old one at once.")
]
_SECRET_BYTES = 1024
Write = Annotated[Path | None, typer.Option("--write", help="Write the secret to this new file (mode 0600) instead.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Rights of a new key, as fields of the request."""

    permissions: Permissions = field(default_factory=lambda: ["brain.read", "brain.write"])
    agent_id: KeyAgent = None
    orgs: Orgs = None
    act_as: ActAs = None
    expires_in: Hours = None
    rate_limit: RateLimit = None
    toolsets: Toolsets = None


@app.command()
@command(
    "openbrain keys create ci --agent ci-bot",
    "openbrain keys create desk --toolset signals --toolset vault",
    "openbrain keys create reader --permission brain.read --org acme --write ~/.config/openbrain/key",
)
def create(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    *,
    grant: Grant,
    to: Connection,
    workspace: Workspace = "",
    write: Write = None,
    json: AsJson = False,
) -> None:
    """Create a key. Its secret is printed once and stored nowhere."""
    refuse_empty(agent=grant.agent_id)
    wanted = given(name=name, workspace_id=workspace, **(asdict(grant) | {"toolsets": _listed(grant.toolsets)}))
    with _secret_file(write) as keep:
        made = to.ask(lambda brain: brain.create_key(**wanted), admin=bool(workspace))
        keep(made.key)
    _tell(made, write, json=json)


@app.command()
@command(
    "openbrain keys rotate 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
    "openbrain keys rotate 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --overlap 0 --write ~/.config/openbrain/key-new",
)
def rotate(
    key_id: KeyId,
    *,
    to: Connection,
    overlap: Overlap = 24,
    workspace: Workspace = "",
    write: Write = None,
    json: AsJson = False,
) -> None:
    """Replace a key with a new one that has the same rights. The new secret is printed once and stored nowhere."""
    with _secret_file(write) as keep:
        made = to.ask(
            lambda brain: brain.rotate_key(key_id, overlap_s=round(overlap * 3600), workspace_id=workspace),
            admin=bool(workspace),
        )
        keep(made.key)
    _tell(made, write, json=json)
    if not json:
        say(f"the old key {made.replaces_id} works until {moment(made.replaced_expires_at)}")


def _listed(toolsets: list[str] | None) -> list[str] | None:
    try:
        return None if toolsets is None else sorted(chosen(",".join(toolsets)))
    except ValueError:
        raise Invalid("--toolset", f"name {choice()}") from None


def _tell(made: "KeyCreated", write: Path | None, *, json: bool) -> None:
    if json:
        as_json(made.model_dump(mode="json", exclude={"key"}) if write else made)
        return
    say(f"key {made.id} of {one_line(made.workspace_id)}: {', '.join(made.permissions)}; the secret is shown this once")
    print(f"written to {write}" if write else made.key)


@contextmanager
def _secret_file(path: Path | None) -> "Iterator[Callable[[str], object]]":
    """Create a new file for a secret, before the key is created, so that a secret is never lost for lack of a place.

    Yield the function that writes it into the room that the file has already. The file is removed if an error occurs.
    """
    if path is None:
        yield lambda _: None
        return
    file = path.expanduser()
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise SetupError(f"{file} can't be created ({error.strerror}): choose another --write") from None
    try:
        with os.fdopen(descriptor, "r+b", buffering=0) as place:
            _take_room(place, file)
            yield lambda secret: place.truncate(place.write(f"{secret}\n".encode()))
    except BaseException:
        file.unlink()
        raise


def _take_room(place: "FileIO", file: Path) -> None:
    """Fill the file with more bytes than a secret has. Raise `SetupError` if there is no room for them."""
    try:
        place.write(bytes(_SECRET_BYTES))
        os.fsync(place.fileno())
    except OSError as error:
        raise SetupError(f"{file} can't be written ({error.strerror}): choose another --write") from None
    place.seek(0)


@app.command("list")
@command("openbrain keys list", "openbrain keys list --workspace acme --json")
def list_keys(to: Connection, workspace: Workspace = "", json: AsJson = False) -> None:
    """List the workspace's keys, without their secrets."""
    response = to.ask(lambda brain: _all(brain, workspace), admin=bool(workspace))
    if json:
        as_json({"keys": response, "count": len(response)})
    elif response:
        show(table("created", "state", "key", rows=_rows(response)))
    else:
        say("there are no keys here")


async def _all(brain: "OpenBrain", workspace: str) -> "list[KeyAnswer]":
    from openbrain.client.wire import pages

    listed = pages(lambda cursor: brain.keys(workspace_id=workspace, cursor=cursor))
    return [key async for page in listed for key in page.keys]


def _rows(keys: "Iterable[KeyAnswer]") -> "Iterable[tuple[str, ...]]":
    for key in keys:
        state = "revoked" if key.revoked_at else _validity(key.expires_at)
        agent = f" ({one_line(key.agent_id)})" if key.agent_id else ""
        orgs = "" if key.orgs is None else f" in {', '.join(key.orgs)}"
        rate = f", {key.rate_limit}/min" if key.rate_limit else ""
        may = one_line(f"{', '.join(key.permissions)}{orgs}{rate}")
        yield day(key.created_at), state, f"{one_line(key.name)}{agent}\n{key.id}\n{may}"


def _validity(expires_at: datetime | None) -> str:
    if expires_at is None:
        return "valid"
    return "ended" if expires_at <= datetime.now(UTC) else f"until {day(expires_at)}"


@app.command()
@command("openbrain keys revoke 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def revoke(key_id: KeyId, to: Connection, workspace: Workspace = "", json: AsJson = False) -> None:
    """Revoke a key. It stops working within seconds."""
    ended = to.ask(lambda brain: brain.revoke_key(key_id, workspace_id=workspace), admin=bool(workspace))
    as_json(ended) if json else print(f"{ended.id}  revoked")
