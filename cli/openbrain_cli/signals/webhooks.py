"""webhooks: where broadcasts are posted to."""

from typing import Annotated

import typer

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, one_line, say, show, table

app = new_app(no_args_is_help=True, help="Post signals to other systems. Needs a key with the permission admin.")

Address = Annotated[str, typer.Argument(metavar="URL", help="https:// of a host on the operator's list.")]
MinSeverity = Annotated[str, typer.Option("--min-severity", help="The weakest that is posted.")]
WebhookId = Annotated[str, typer.Argument(metavar="ID", help="As `webhooks list` shows it.")]

Seqs = Annotated[list[int] | None, typer.Argument(metavar="SEQ", help="These only, as `webhooks dead` shows them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell how much that would be.")]


@app.command()
@command("openbrain webhooks add https://hooks.example.org/openbrain --min-severity critical")
def add(address: Address, *, to: Connection, min_severity: MinSeverity = "warning", json: AsJson = False) -> None:
    """Post what is broadcast from now on. The secret that posts are signed with is shown once, here."""
    made = to.ask(lambda brain: brain.create_webhook(address, min_severity=min_severity))
    if json:
        as_json(made)
    else:
        print(f"{made.id}\n{made.secret}")
        say(f"it hears the workspace {one_line(made.workspace_id)}; keep the secret: it is shown only now")


@app.command("list")
@command("openbrain webhooks list", "openbrain webhooks list --json")
def list_webhooks(to: Connection, *, json: AsJson = False) -> None:
    """List where broadcasts are posted to, how far each has come, and what its last attempt met."""
    page = to.ask(lambda brain: brain.webhooks(limit=100))
    if json:
        as_json(page)
    elif page.webhooks:
        rows = (
            (
                "on" if webhook.enabled else "off",
                str(webhook.cursor),
                f"{one_line(webhook.url)}\n{webhook.id}" + (f"\n{one_line(webhook.error)}" if webhook.error else ""),
            )
            for webhook in page.webhooks
        )
        show(table("", "through", "webhook", rows=rows))
    else:
        say("there are no webhooks here")


@app.command()
@command("openbrain webhooks disable 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def disable(webhook_id: WebhookId, *, to: Connection) -> None:
    """Post to it no more, until it is enabled."""
    print(f"{to.ask(lambda brain: brain.enable_webhook(webhook_id, enabled=False)).id}  off")


@app.command()
@command("openbrain webhooks enable 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def enable(webhook_id: WebhookId, *, to: Connection) -> None:
    """Post to it again, from where it stopped."""
    print(f"{to.ask(lambda brain: brain.enable_webhook(webhook_id)).id}  on")


@app.command()
@command("openbrain webhooks dead 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def dead(webhook_id: WebhookId, *, to: Connection) -> None:
    """Show, as JSON, what it could not be given."""
    as_json(to.ask(lambda brain: brain.webhook_dead_letters(webhook_id, limit=100)))


@app.command()
@command(
    "openbrain webhooks replay 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
    "openbrain webhooks replay 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 17 18 --dry-run",
)
def replay(webhook_id: WebhookId, seqs: Seqs = None, *, to: Connection, dry_run: DryRun = False) -> None:
    """Post again what it could not be given, once each. What is not taken is a dead letter again."""
    done = to.ask(lambda brain: brain.replay_webhook_dead_letters(webhook_id, seqs or (), dry_run=dry_run))
    print(f"{done.count} would be posted again" if dry_run else f"{done.count} are posted again")


@app.command()
@command(
    "openbrain webhooks remove 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
    "openbrain webhooks remove 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --dry-run",
)
def remove(webhook_id: WebhookId, *, to: Connection, dry_run: DryRun = False) -> None:
    """End it, with its dead letters."""
    done = to.ask(lambda brain: brain.remove_webhook(webhook_id, dry_run=dry_run))
    verb = "would be removed" if dry_run else "removed"
    print(f"{done.id}  {verb}, with {done.dead_letters} dead letters")
