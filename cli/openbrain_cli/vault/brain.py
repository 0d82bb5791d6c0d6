"""brain: the feed, the pages of the vault, and agents' posts."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain.domain.errors import TryLater
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Limit, Speaking, filled, given, named_path
from openbrain_cli.output import as_json, one_line, plain, say, show, table
from openbrain_cli.profile import NotRunning

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain_cli.vault.feed_sync import Synced

app = new_app(no_args_is_help=True, help="The vault of a running brain: its feed, its pages, and posts into it.")

Directory = Annotated[Path, typer.Argument(parser=named_path, metavar="DIR", help="Local folder; created if missing.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be written and removed.")]
Adopt = Annotated[bool, typer.Option("--adopt", help="Accept a folder with other files, and remove those.")]
Every = Annotated[int, typer.Option("--every", min=0, help="Repeat after so many seconds, until Ctrl-C; 0: once.")]
Kind = Annotated[str, typer.Argument(metavar="KIND", help="lesson, milestone, signal or decision.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads standard input.")]
Source = Annotated[str, typer.Option("--source", help="Its origin: a project, a service.")]
SeverityOption = Annotated[
    str, typer.Option("--severity", help="Severity of a signal: info, warning, critical or nuclear; resolved ends it.")
]
Key = Annotated[str, typer.Option("--idempotency-key", help="Repeating a key writes nothing again.")]
PagePath = Annotated[str, typer.Argument(metavar="PATH", help="Path in the vault.")]
Words = Annotated[str, typer.Argument(metavar="WORDS", help="Words that must all be in the page.")]
Below = Annotated[str, typer.Option("--path", help="Only below this folder.")]


@app.command()
@command("openbrain brain sync ~/.agentihooks/brain-feed --every 30", "openbrain brain sync feed --dry-run")
def sync(
    folder: Directory,
    *,
    to: Speaking,
    dry_run: DryRun = False,
    adopt: Adopt = False,
    every: Every = 0,
    json: AsJson = False,
) -> None:
    """Keep a local folder equal to the feed, for clients that read files. Files not in the feed are removed."""
    from openbrain_cli.vault.feed_sync import sync as made_equal

    root = folder.expanduser().absolute()

    async def once(brain: "OpenBrain") -> "Synced":
        return await made_equal(brain, root, dry_run=dry_run, adopt=adopt)

    while True:
        try:
            _tell(to.ask(once), json=json, dry_run=dry_run)
        except (TryLater, NotRunning) as error:
            if not every:
                raise
            say(str(error))
        if not every:
            return
        time.sleep(every)


def _tell(done: "Synced", *, json: bool, dry_run: bool) -> None:
    if json:
        as_json({"written": done.written, "removed": done.removed, "unchanged": done.unchanged, "dry_run": dry_run})
        return
    for verb, names in (("write", done.written), ("remove", done.removed)):
        for name in names:
            print(f"{'would ' if dry_run else ''}{verb} {one_line(name)}")
    if not done.written and not done.removed:
        say(f"nothing to do; files up to date: {done.unchanged}")


@app.command()
@command("openbrain brain feed", "openbrain brain feed --json")
def feed(to: Speaking, *, json: AsJson = False) -> None:
    """Show what sessions read when they start."""
    answer = to.ask(lambda brain: brain.feed())
    if json:
        as_json(answer)
        return
    for entry in sorted((*answer.hot_arcs, *answer.inject_blocks, *answer.entries), key=lambda item: -item.priority):
        print(f"{one_line(entry.title)}  [{entry.severity}]\n\n{plain(entry.content)}\n")
    if not answer.entry_count:
        say("the feed is empty: has a tick run? openbrain tick")


@app.command()
@command(
    "openbrain brain post lesson 'Look at the logs first.' --source shop", "openbrain brain post decision - < why.md"
)
def post(
    kind: Kind,
    text: Text,
    *,
    to: Speaking,
    source: Source = "",
    severity: SeverityOption = "",
    idempotency_key: Key = "",
    json: AsJson = False,
) -> None:
    """Write a lesson, milestone, signal or decision to its place in the vault."""
    from openbrain.contract.vault.pages import POST_CHARS

    content = filled("TEXT", sys.stdin.read(POST_CHARS + 1) if text == "-" else text)
    attrs = given(source=source, severity=severity)
    done = to.ask(lambda brain: brain.post_marker(kind, content, attrs, idempotency_key=idempotency_key))
    if json:
        as_json(done)
    else:
        print(f"{done.action}  {done.vault_path}")


@app.command()
@command("openbrain brain read left/reference/lessons-2026-11-21.md")
def read(path: PagePath, *, to: Speaking, json: AsJson = False) -> None:
    """Show one page of the vault."""
    page = to.ask(lambda brain: brain.vault_page(path))
    if json:
        as_json(page)
    else:
        print(plain(page.content), end="")


@app.command()
@command("openbrain brain search 'redis failover'", "openbrain brain search broker --path left --json")
def search(words: Words, *, to: Speaking, path: Below = "", limit: Limit = 20, json: AsJson = False) -> None:
    """Find pages of the vault by their words."""
    words = filled("WORDS", words)
    answer = to.ask(lambda brain: brain.vault_search(words, path=path, limit=limit))
    if json:
        as_json(answer)
    elif answer.results:
        show(
            table(
                "page",
                "line",
                "",
                rows=((result.path, result.line, one_line(result.text)) for result in answer.results),
            )
        )
    else:
        say("no page contains all of these words")
    if not answer.complete:
        say("there may be more: narrow it down with --path")
