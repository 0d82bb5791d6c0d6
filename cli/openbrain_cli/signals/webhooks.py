"""webhooks: addresses to which broadcasts are posted."""

from typing import Annotated

import typer

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Connection
from openbrain_cli.output import as_json, one_line, say, show, table

app = new_app(no_args_is_help=True, help="Post signals to other systems. Needs a key with the permission admin.")

Address = Annotated[str, typer.Argument(metavar="URL", help="https:// URL of a host on the operator's list.")]
MinSeverity = Annotated[str, typer.Option("--min-severity", help="Lowest severity that is posted.")]
WebhookId = Annotated[str, typer.Argument(metavar="ID", help="Id of a webhook, as `webhooks list` shows it.")]

Seqs = Annotated[list[int] | None, typer.Argument(metavar="SEQ", help="Only these, as `webhooks dead` shows them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show how many.")]


@app.command()
@command("openbrain webhooks add https://hooks.example.org/openbrain --min-severity critical")
def add(address: Address, *, to: Connection, min_severity: MinSeverity = "warning", json: AsJson = False) -> None:
    """Post broadcasts to an address from now on. The secret that signs the posts is shown only here, once."""
    made = to.ask(lambda brain: brain.create_webhook(address, min_severity=min_severity))
    if json:
        as_json(made)
    else:
        print(f"{made.id}\n{made.secret}")
        say(f"it gets the signals of {one_line(made.workspace_id)}; keep the secret: it is shown only now")


@app.command("list")
@command("openbrain webhooks list", "openbrain webhooks list --json")
def list_webhooks(to: Connection, *, json: AsJson = False) -> None:
    """List the webhooks: how far each has come, and the error of its last attempt."""
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
    """Stop posting to it until it is enabled."""
    print(f"{to.ask(lambda brain: brain.enable_webhook(webhook_id, enabled=False)).id}  off")


@app.command()
@command("openbrain webhooks enable 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def enable(webhook_id: WebhookId, *, to: Connection) -> None:
    """Resume posting to it, from where it stopped."""
    print(f"{to.ask(lambda brain: brain.enable_webhook(webhook_id)).id}  on")


@app.command()
@command("openbrain webhooks dead 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def dead(webhook_id: WebhookId, *, to: Connection) -> None:
    """Show the broadcasts that it could not be given, as JSON."""
    as_json(to.ask(lambda brain: brain.webhook_dead_letters(webhook_id, limit=100)))


@app.command()
@command(
    "openbrain webhooks replay 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
    "openbrain webhooks replay 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 17 18 --dry-run",
)
def replay(webhook_id: WebhookId, seqs: Seqs = None, *, to: Connection, dry_run: DryRun = False) -> None:
    """Post its dead letters again, once each. One that fails becomes a dead letter again."""
    done = to.ask(lambda brain: brain.replay_webhook_dead_letters(webhook_id, seqs or (), dry_run=dry_run))
    print(f"{done.count} would be posted again" if dry_run else f"{done.count} are posted again")


@app.command()
@command(
    "openbrain webhooks remove 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
    "openbrain webhooks remove 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --dry-run",
)
def remove(webhook_id: WebhookId, *, to: Connection, dry_run: DryRun = False) -> None:
    """Remove it, with its dead letters."""
    done = to.ask(lambda brain: brain.remove_webhook(webhook_id, dry_run=dry_run))
    verb = "would be removed" if dry_run else "removed"
    print(f"{done.id}  {verb}, with {done.dead_letters} dead letters")
