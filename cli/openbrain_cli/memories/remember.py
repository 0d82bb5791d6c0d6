"""remember."""

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Org, Project, Session, Speaking, Tags, Wait, given
from openbrain_cli.output import as_json
from openbrain_cli.profile import Profile

if TYPE_CHECKING:
    from openbrain.contract.brain.memories import Remembered

_BYTES_PER_CHARACTER = 4

TextArgument = Annotated[
    list[str], typer.Argument(metavar="TEXT...", help="What to remember; - reads it from standard input.")
]
Kind = Annotated[str, typer.Option("--type", help="fact, decision, observation, convention, bug, procedure ...")]
Scope = Annotated[str | None, typer.Option("--scope", help="project (default), shared, agent or session.")]
Confidence = Annotated[float | None, typer.Option(min=0, max=1, help="From 0 to 1.")]
Hours = Annotated[int | None, typer.Option("--expires-in", min=1, help="Hours until it expires.")]
Supersedes = Annotated[str | None, typer.Option(help="Id of the memory that it replaces.")]
Source = Annotated[str | None, typer.Option(help="Where it comes from.")]
Title = Annotated[str | None, typer.Option(help="Its name: a question that contains the name finds it.")]
Aliases = Annotated[list[str] | None, typer.Option("--alias", help="Another name for it; repeatable.")]
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="Id of a memory, as `recall` and `list` show it.")]
Reason = Annotated[str, typer.Option(help="Reason, for the history.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """How a new memory is filed, as fields of the request."""

    type: Kind = "observation"
    org: Org = None
    project: Project = None
    tags: Tags = None
    title: Title = None
    aliases: Aliases = None
    memory_scope: Scope = None
    session_id: Session = ""
    confidence: Confidence = None
    expires_in: Hours = None
    supersedes: Supersedes = None
    source: Source = None

    def fields(self, default: Profile) -> dict[str, Any]:
        return given(**(asdict(self) | {"org": self.org or default.org}))


@command(
    'openbrain remember "The cache key must hold the tenant." --type bug --project shop --tag cache',
    "git log -1 --format=%B | openbrain remember - --type decision --wait 10",
)
def remember(text: TextArgument, filed: Filed, to: Speaking, wait: Wait = 0, json: AsJson = False) -> None:
    """Store one memory. Storing the same content again returns the same memory."""
    offer = {"content": read_text(" ".join(text)), **filed.fields(to.profile), **given(agent_id=to.agent)}
    stored = to.ask(lambda brain: brain.remember(offer, wait=wait))
    if json:
        as_json(stored)
    else:
        print(_summary(stored))


def read_text(argument: str) -> str:
    """Return the typed text, or standard input for `-`."""
    if argument != "-":
        return argument
    from openbrain.domain import limits

    raw = sys.stdin.buffer.read(limits.CONTENT_CHARS * _BYTES_PER_CHARACTER + 1)
    if len(raw) > limits.CONTENT_CHARS * _BYTES_PER_CHARACTER:
        raise Invalid("content", f"must be at most {limits.CONTENT_CHARS} characters")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("content", "standard input is not UTF-8 text") from None


def _summary(stored: "Remembered") -> str:
    if stored.duplicate:
        return f"{stored.id}  was there already"
    return f"{stored.id}  {'stored and found' if stored.indexed else 'stored'}"
