"""Options that many commands share: the OpenBrain to call, the filters of a recall or a list, and files to read."""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from openbrain.domain.errors import Invalid, NotFound, SetupError, Unauthorised
from openbrain_cli.profile import Profile, profile

if TYPE_CHECKING:
    from openbrain.client import OpenBrain

T = TypeVar("T")

Url = Annotated[str, typer.Option("--url", help="The API; else OPENBRAIN_URL, else the one that `openbrain up` runs.")]


def folder(named: str) -> Path:
    """Return a folder; an empty name, as of an unset variable, would be the working folder."""
    if not named:
        raise typer.BadParameter("it is empty: name a folder, or leave the option out")
    return Path(named)


def named_path(named: str) -> Path:
    """Return the path that is named; an empty name, as of an unset variable, would be the working folder."""
    if not named:
        raise typer.BadParameter("it is empty: name a file or folder")
    return Path(named)


def _named_workspace(context: typer.Context, option: typer.CallbackParam, name: str) -> str:
    """Return the workspace; an empty name, as of an unset variable, would be the key's own."""
    source = context.get_parameter_source(option.name or "")
    if not name and source is not None and source.name != "DEFAULT":
        raise typer.BadParameter("it is empty: name a workspace, or leave the option out for the key's own")
    return name


KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        parser=named_path,
        metavar="<path>",
        help="File with the key in its first line, private to you.",
    ),
]
Data = Annotated[
    Path | None, typer.Option("--data", parser=folder, metavar="<path>", help="The data folder of `openbrain up`.")
]
Agent = Annotated[str, typer.Option("--agent", help="Act as this agent, if the key may.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file; else ~/.openbrain/openbrain.toml.", is_eager=True),
]
Workspace = Annotated[
    str,
    typer.Option(
        "--workspace", callback=_named_workspace, help="Another workspace than the key's; needs an operator's key."
    ),
]

Org = Annotated[str | None, typer.Option("--org", help="Organisation.")]
Project = Annotated[str | None, typer.Option("--project", help="Project.")]
Session = Annotated[str, typer.Option("--session", help="Within this session.")]
SessionFilter = Annotated[str | None, typer.Option("--session", help="Within this session.")]
Kinds = Annotated[list[str] | None, typer.Option("--type", help="Only of this type; repeatable.")]
Scopes = Annotated[list[str] | None, typer.Option("--scope", help="agent, project, shared or session; repeatable.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Tag; repeatable.")]
Sources = Annotated[list[str] | None, typer.Option("--source", help="Only from this source; repeatable.")]
Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="Only with this in its metadata; repeatable."),
]
Authors = Annotated[list[str] | None, typer.Option("--author", help="Only what this agent wrote; repeatable.")]
MinConfidence = Annotated[
    float | None, typer.Option("--min-confidence", min=0, max=1, help="At least this confidence.")
]
MaxConfidence = Annotated[float | None, typer.Option("--max-confidence", min=0, max=1, help="At most this confidence.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Maximum number of results.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Continue after the previous page.")]
Wait = Annotated[int, typer.Option("--wait", min=0, help="Wait up to this many seconds until it can be found.")]

FILE_BYTES = 256 << 20
AGO = re.compile(r"(\d{1,9})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def given_time(written: str) -> datetime:
    """Return the time of an ISO date or time, or of `24h` or `7d` before now."""
    try:
        if ago := AGO.fullmatch(written.strip()):
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return datetime.fromisoformat(written.strip())
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{written!r} is no time: give a day (2026-01-31), a time (2026-01-31T12:00:00Z) or how long ago (24h, 7d)"
        ) from None


def given_moment(written: str) -> str:
    """Return the time of `given_time` as ISO text with a zone, UTC if none was given."""
    return _zoned(given_time(written)).isoformat()


Since = Annotated[
    datetime | None, typer.Option("--since", parser=given_time, metavar="TIME", help="Happened then or later (UTC).")
]
Until = Annotated[
    datetime | None, typer.Option("--until", parser=given_time, metavar="TIME", help="Happened before then (UTC).")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Options that select an OpenBrain and the key for it."""

    url: Url = ""
    key_file: KeyFile = None
    data: Data = None

    @property
    def speaker(self) -> str:
        """The agent to act as; '' for the key's own."""
        return ""

    @property
    def profile(self) -> Profile:
        return profile(self.url, self.key_file, self.data)

    def ask(self, question: "Callable[[OpenBrain], Awaitable[T]]", *, admin: bool = False) -> T:
        """Open the client, run `question`, close it. `admin` uses the key that can create workspaces."""
        chosen = self.profile

        async def asking() -> T:
            async with chosen.client(agent=self.speaker, admin=admin) as brain:
                try:
                    return await question(brain)
                except Unauthorised:
                    raise chosen.not_known(admin=admin) from None
                except Invalid as error:
                    if error.field != "agent_id" or not isinstance(self, Speaking) or self.speaker:
                        raise
                    raise Invalid("", f"{error}: name it with --agent or OPENBRAIN_AGENT_ID") from None

        return asyncio.run(asking())


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaking(Connection):
    """Connection options, and the agent to act as."""

    agent: Agent = ""

    @property
    def speaker(self) -> str:
        return self.agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """Filters of a recall or a list, with the API's names."""

    org: Org = None
    project: Project = None
    type: Kinds = None
    include_scopes: Scopes = None
    tags: Tags = None
    source: Sources = None
    author: Authors = None
    metadata: Metadata = None
    session_id: SessionFilter = None
    min_confidence: MinConfidence = None
    max_confidence: MaxConfidence = None
    since: Since = None
    until: Until = None

    def filters(self, default: Profile) -> Any:
        changed = {"org": self.org or default.org, "metadata": _members(self.metadata or ())}
        return given(**(asdict(self) | changed))

    def refuse_empty(self) -> None:
        """`refuse_empty` for a command that ends or copies what matches."""
        refuse_empty(org=self.org, project=self.project, session=self.session_id)


def refuse_empty(**options: str | None) -> None:
    """Raise `Invalid` for an option without a value, as of an unset variable: without it, more would be selected."""
    for name, value in options.items():
        if value == "":
            raise Invalid(f"--{name}", "has no value: leave it out, or give it one")


def filled(name: str, text: str) -> str:
    """Return the text. Raise `Invalid` if it is blank, as of an unset variable."""
    if not text.strip():
        raise Invalid(name, "is empty")
    return text


def _members(pairs: Iterable[str]) -> dict[str, str] | None:
    members: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name in members:
            raise Invalid("metadata", "must be given as --metadata KEY=VALUE, each key once")
        members[name] = value
    return members or None


def given(**options: Any) -> dict[str, Any]:
    """The options that have a value, by name: None, '' and [] are left out, times without a zone become UTC."""
    kept = {name: value for name, value in options.items() if value is not None and value not in ("", [])}
    return {name: _zoned(value) if isinstance(value, datetime) else value for name, value in kept.items()}


def _zoned(value: datetime) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def file_bytes(path: Path) -> bytes:
    """The content of a file that the user names; `-` is standard input. `NotFound` or `SetupError` if unreadable,
    `Invalid` if it is too long, as a device without an end."""
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.expanduser().open("rb") as file:
            content = file.read(FILE_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}: check its path") from None
    except OSError as error:
        raise SetupError(f"{path} can't be read: {error.strerror}") from None
    if len(content) > FILE_BYTES:
        name = "standard input" if str(path) == "-" else path
        raise Invalid("", f"{name} has more than {FILE_BYTES >> 20} MiB: split it")
    return content


def file_text(path: Path) -> str:
    """Read a file that the user names as UTF-8 text; `Invalid` if it is not."""
    try:
        return file_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid("--file", f"must be UTF-8 text: byte {error.start + 1} of {path} is not") from None


def confirmed(question: str) -> None:
    """Ask the question; `typer.Abort` if the answer is no. Without a terminal, require --yes."""
    if not sys.stdin.isatty():
        raise Invalid("", "this can't be undone, and there is no terminal to ask for confirmation: add --yes")
    typer.confirm(question, abort=True, err=True)
