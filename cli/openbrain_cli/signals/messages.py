"""messages: messages between agents."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Cursor, Limit, Org, Speaking
from openbrain_cli.output import as_json, moment, one_line, say, show, table

if TYPE_CHECKING:
    from openbrain.contract.messages import MessageAnswer

app = new_app(no_args_is_help=True, help="Messages between agents; you act as the key's agent.")

To = Annotated[str, typer.Argument(metavar="AGENT", help="The other agent.")]
Content = Annotated[list[str], typer.Argument(metavar="TEXT...", help="What to say.")]
Subject = Annotated[str, typer.Option("--subject", help="Subject, on one line.")]
Key = Annotated[str, typer.Option("--idempotency-key", help="Repeating a key sends no second message.")]
After = Annotated[int, typer.Option("--after", min=0, help="Only messages after this number.")]
Everything = Annotated[bool, typer.Option("--all", help="Also show messages that are marked as read.")]
Mark = Annotated[bool, typer.Option("--mark", help="Mark the shown messages as read.")]


@app.command()
@command("openbrain messages send bo 'which time-out did you set?' --subject gateway")
def send(
    other: To,
    content: Content,
    *,
    to: Speaking,
    subject: Subject = "",
    org: Org = None,
    idempotency_key: Key = "",
    json: AsJson = False,
) -> None:
    """Send a message to an agent's inbox."""
    sent = to.ask(
        lambda brain: brain.send_message(
            other, " ".join(content), subject=subject, org=org, idempotency_key=idempotency_key
        )
    )
    if json:
        as_json(sent)
    else:
        print(f"{sent.id}  {sent.sender} -> {sent.recipient}  #{sent.seq}")


@app.command()
@command(
    "openbrain messages inbox", "openbrain messages inbox --all --after 40", "openbrain messages inbox --mark --json"
)
def inbox(
    to: Speaking,
    *,
    after: After = 0,
    every: Everything = False,
    mark: Mark = False,
    limit: Limit = 20,
    json: AsJson = False,
) -> None:
    """Show the agent's unread messages, oldest first."""
    messages = to.ask(lambda brain: brain.inbox(after=after, unread=not every, limit=limit))
    as_json(messages) if json else _shown(messages.messages)
    sys.stdout.flush()  # what could not be shown is not read
    if mark and messages.messages:
        to.ask(lambda brain: brain.mark_read([message.id for message in messages.messages]))
    if not json:
        left = messages.unread - sum(not message.read for message in messages.messages)
        say(f"{left} more unread" if left else "no messages" if not messages.messages else "that is all")


@app.command("with")
@command("openbrain messages with bo", "openbrain messages with bo --limit 100 --json")
def with_agent(other: To, to: Speaking, *, limit: Limit = 20, cursor: Cursor = None, json: AsJson = False) -> None:
    """Show the messages to and from another agent, newest first."""
    messages = to.ask(lambda brain: brain.conversation(other, limit=limit, cursor=cursor))
    if json:
        as_json(messages)
        return
    _shown(messages.messages)
    if messages.next_cursor:
        say(f"there is more: --cursor {messages.next_cursor}")


def _shown(messages: "Iterable[MessageAnswer]") -> None:
    rows = [
        (
            str(message.seq),
            moment(message.created_at),
            f"{one_line(message.sender)} -> {one_line(message.recipient)}",
            one_line(f"{message.subject}: {message.content}" if message.subject else message.content),
        )
        for message in messages
    ]
    if rows:
        show(table("", "sent", "who", "what", rows=rows))
