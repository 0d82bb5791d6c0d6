"""dead: entries that could not be delivered in any attempt; list, show, replay, discard."""

import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.operators.operations import failed, followed
from openbrain_cli.options import AsJson, Connection, Limit, confirmed, given, refuse_empty
from openbrain_cli.output import as_json, moment, one_line, plain, say, show, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openbrain.client import OpenBrain
    from openbrain.contract.admin.dead_letters import DeadLetterAnswer, DeadLettersChanged

app = new_app(
    no_args_is_help=True,
    help="Entries that services could not handle: list, replay, discard. Needs an operator's key.",
)

_AGES = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _age(text: str) -> timedelta:
    try:
        age = timedelta(seconds=int(text[:-1]) * _AGES[text[-1:]])
        datetime.now(UTC) - age  # raises an error before the year 1
        return age  # noqa: TRY300 - the same
    except (ValueError, KeyError, OverflowError):
        raise typer.BadParameter("write it as 30s, 15m, 2h or 7d") from None


OfStream = Annotated[str | None, typer.Option("--stream", help="Only of this stream.")]
OfGroup = Annotated[str | None, typer.Option("--group", help="Only of this group.")]
Error = Annotated[str | None, typer.Option("--error", help="Only with this error, as `dead list` names it.")]
Older = Annotated[
    timedelta | None, typer.Option("--older-than", parser=_age, metavar="AGE", help="Only older ones: 15m, 2h, 7d.")
]
Newer = Annotated[timedelta | None, typer.Option("--newer-than", parser=_age, metavar="AGE", help="Only newer ones.")]
Cursor = Annotated[str, typer.Option("--cursor", help="The next_cursor of the previous page.")]
Letters = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Ids, as `dead list` shows them.")]
Every = Annotated[bool, typer.Option("--all", help="All dead letters.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show which.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Rate = Annotated[int | None, typer.Option("--rate", min=1, help="Maximum number of letters per second.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The filters of dead letters."""

    stream: OfStream = None
    group: OfGroup = None
    error: Error = None
    older_than: Older = None
    newer_than: Newer = None

    def query(self) -> dict[str, Any]:
        refuse_empty(stream=self.stream, group=self.group, error=self.error)
        now = datetime.now(UTC)
        until = None if self.older_than is None else now - self.older_than
        since = None if self.newer_than is None else now - self.newer_than
        return given(stream=self.stream, group=self.group, error=self.error, since=since, until=until)


@app.command("list")
@command("openbrain dead list", "openbrain dead list --group indexer-text --older-than 1h --json")
def list_dead(to: Connection, *, wanted: Wanted, limit: Limit = 50, cursor: Cursor = "", json: AsJson = False) -> None:
    """List dead letters: which entry, of which stream and group, why and when. Never their content."""
    selection = wanted.query()
    response = to.ask(lambda brain: brain.dead_letters(limit=limit, cursor=cursor or None, **selection), admin=True)
    if json:
        as_json(response)
        return
    if response.dead_letters:
        show(table("died", "letter", rows=(_row(letter) for letter in response.dead_letters)))
    if response.next_cursor:
        say(f"there are more: --cursor {response.next_cursor}")
    elif not response.dead_letters:
        say("there are no such dead letters")


def _row(letter: "DeadLetterAnswer") -> tuple[str, str]:
    tried = f"after {letter.attempts} attempts" if letter.attempts != 1 else "at the first attempt"
    return moment(letter.died_at), f"{letter.id}\n{one_line(letter.error)} {tried}: {one_line(letter.message)}"


@app.command("show")
@command(
    "openbrain dead show memory.stored.embedder.1795333556767-0",
    "openbrain dead show memory.submitted.ingest.1795333556767-0 --body",
)
def show_dead(
    letter: Annotated[str, typer.Argument(metavar="ID", help="Id of a dead letter, as `dead list` shows it.")],
    *,
    to: Connection,
    body: Annotated[
        bool, typer.Option("--body", help="Also show the entry, which may contain what somebody remembered.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show one dead letter."""
    response = to.ask(lambda brain: brain.dead_letter(letter, body=body), admin=True)
    if json:
        as_json(response)
    else:
        show(table("", "", rows=_facts(response)))
        for name, text in (response.fields or {}).items():
            print(f"{one_line(name)}:\n{textwrap.indent(plain(text), '  ')}")


def _facts(letter: "DeadLetterAnswer") -> "Iterator[tuple[str, str]]":
    for name, value in letter.model_dump(mode="json", exclude={"fields"}).items():
        if value is not None:
            yield name, one_line(str(value))


@app.command()
@command(
    "openbrain dead replay memory.stored.embedder.1795333556767-0",
    "openbrain dead replay --group indexer-text --error Refused --dry-run",
    "openbrain dead replay --all --rate 100",
)
def replay(
    letters: Letters = None,
    *,
    to: Connection,
    wanted: Wanted,
    every: Every = False,
    rate: Rate = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Deliver dead letters again to the groups in which they failed, after live entries.

    A dead letter is removed once its entry is safely delivered again. If that fails, the entry becomes one again.
    """
    selection = _chosen(letters, wanted, every=every)
    done = to.ask(
        lambda brain: _followed(brain, brain.replay_dead, {**selection, **given(rate=rate)}, dry_run), admin=True
    )
    _tell(done, "replayed", json=json)


@app.command()
@command(
    "openbrain dead discard memory.submitted.ingest.1795333556767-0 --yes",
    "openbrain dead discard --stream memory.submitted --older-than 7d --dry-run",
)
def discard(
    letters: Letters = None,
    *,
    to: Connection,
    wanted: Wanted,
    every: Every = False,
    reason: Annotated[str, typer.Option("--reason", help="Reason, kept with the operation.")] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
) -> None:
    """Discard dead letters. Can't be undone."""
    selection = {**_chosen(letters, wanted, every=every), **given(reason=reason)}
    if not (dry_run or yes):
        confirmed("Discard these dead letters for good?")
    done = to.ask(lambda brain: _followed(brain, brain.discard_dead, selection, dry_run), admin=True)
    _tell(done, "discarded", json=json)


def _chosen(letters: list[str] | None, wanted: Wanted, *, every: bool) -> dict[str, Any]:
    selection = wanted.query()
    if sum((bool(letters), bool(selection), every)) != 1:
        raise Invalid("", "name dead letters, or narrow them (--stream, --group, --error ...), or say --all")
    return {**selection, **({"letters": letters} if letters else {}), **({"every": True} if every else {})}


async def _followed(
    brain: "OpenBrain", ask: "Callable[..., Awaitable[DeadLettersChanged]]", selection: dict[str, Any], dry_run: bool
) -> "DeadLettersChanged":
    queued = await ask(dry_run=dry_run, **selection)
    if queued.operation is None:
        return queued
    return queued.model_copy(update={"operation": await followed(brain, queued.operation.id)})


def _tell(done: "DeadLettersChanged", past: str, *, json: bool) -> None:
    if json:
        as_json(done)
    elif done.operation is None:
        print(f"{done.count} would be {past}" if done.dry_run else f"0 {past}: there are no such dead letters")
        for item in done.sample:
            print(f"  {item}")
    else:
        became = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in done.operation.result.items())
        print(f"{done.operation.done} looked at: {became or 'none was left'}")
    if done.operation is not None:
        failed(done.operation)
