"""Webhooks: create, list, enable, disable, remove, replay."""

from typing import Any, TypeVar

from openbrain.contract.amygdala.webhooks import (
    WebhookAnswer,
    WebhookBody,
    WebhookChangeBody,
    WebhookCreated,
    WebhookLetter,
    WebhookLetters,
    WebhookLettersQuery,
    WebhookList,
    WebhookRemoved,
    WebhookRemoveQuery,
    WebhookReplayBody,
    WebhookReplayed,
    WebhooksQuery,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.signals.webhook_rules import checked_url, new_secret
from openbrain.domain.times import to_datetime
from openbrain.ports.store.webhooks import Webhook
from openbrain.usecases.auth import OPERATORS
from openbrain_api.http.parsing import found, id_in, page_of, position
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route

Shown = TypeVar("Shown", bound=WebhookAnswer)


@Route(
    "POST",
    "/v1/amygdala/webhooks",
    gated=False,
    permission=Permission.ADMIN,
    response=WebhookCreated,
    statuses=(201,),
    problems=(404, 409),
)
async def create_webhook(call: Call[WebhookBody, Nothing]) -> Response:
    """Create a webhook; its secret is in this answer only.

    From now on the broadcasts of the key's workspace are posted to it.
    """
    settings, actor, now = call.api.settings.webhooks, call.actor, call.api.clock.now()
    settings.require_enabled()
    if actor.workspace_id == OPERATORS:
        raise Forbidden(
            f"a webhook receives the broadcasts of its key's workspace, and nothing is raised in {OPERATORS}: "
            "create it with an admin key of the workspace whose broadcasts it should receive"
        )
    checked_url(call.body.url, settings.hosts, settings.private_hosts)
    made = await call.api.store.webhooks.add_webhook(
        Webhook(
            id=uuid7(now),
            workspace_id=actor.workspace_id,
            url=call.body.url,
            secret=new_secret(),
            min_severity=call.body.min_severity,
            orgs=actor.orgs,
            without_org=actor.without_org,
            created_by=actor.label,
            created_at=now,
        ),
        settings.tuning.most,
    )
    return respond(_shown(made, WebhookCreated), status=201)


@Route("GET", "/v1/amygdala/webhooks", permission=Permission.ADMIN, response=WebhookList)
async def webhooks(call: Call[Nothing, WebhooksQuery]) -> Response:
    """List the workspace's webhooks, oldest first."""
    query = call.query
    rows = await call.api.store.webhooks.webhooks(call.actor.workspace_id, query.limit + 1, position(query.cursor))
    rows, following = page_of(rows, query.limit)
    shown = tuple(_shown(row, WebhookAnswer) for row in rows)
    return respond_page(WebhookList(webhooks=shown, count=len(shown), next_cursor=following))


@Route("GET", "/v1/amygdala/webhooks/{id}", permission=Permission.ADMIN, response=WebhookAnswer, problems=(404,))
async def webhook(call: Call[Nothing, Nothing]) -> Response:
    """One webhook with its progress."""
    return respond(_shown(await _named(call), WebhookAnswer))


@Route("PATCH", "/v1/amygdala/webhooks/{id}", permission=Permission.ADMIN, response=WebhookAnswer, problems=(404,))
async def change_webhook(call: Call[WebhookChangeBody, Nothing]) -> Response:
    """Disable or enable a webhook."""
    row = await _named(call)
    changed = await call.api.store.webhooks.enable_webhook(row.workspace_id, row.id, enabled=call.body.enabled)
    return respond(_shown(changed, WebhookAnswer))


@Route("DELETE", "/v1/amygdala/webhooks/{id}", permission=Permission.ADMIN, response=WebhookRemoved, problems=(404,))
async def remove_webhook(call: Call[Nothing, WebhookRemoveQuery]) -> Response:
    """Remove a webhook, with its dead letters."""
    row, dry_run = await _named(call), call.query.dry_run
    letters = await call.api.store.webhook_letters.count_webhook_dead_letters(row.workspace_id, row.id)
    if not (dry_run or await call.api.store.webhooks.remove_webhook(row.workspace_id, row.id)):
        raise NotFound("no webhook with this id")
    return respond(WebhookRemoved(id=row.id, removed=not dry_run, dry_run=dry_run, dead_letters=letters))


@Route(
    "POST",
    "/v1/amygdala/webhooks/{id}/dead:replay",
    permission=Permission.ADMIN,
    response=WebhookReplayed,
    problems=(404,),
)
async def replay_webhook_letters(call: Call[WebhookReplayBody, Nothing]) -> Response:
    """Post a webhook's dead letters again.

    Each is tried once; one that is not accepted becomes a dead letter again.
    """
    row, seqs, dry_run = await _named(call), call.body.seqs or (), call.body.dry_run
    store = call.api.store
    if dry_run:
        count = await store.webhook_letters.count_webhook_dead_letters(row.workspace_id, row.id, seqs)
    else:
        call.api.settings.webhooks.require_enabled()
        count = await store.webhook_letters.replay_webhook_dead_letters(row.workspace_id, row.id, seqs)
    return respond(WebhookReplayed(id=row.id, count=count, dry_run=dry_run))


@Route("GET", "/v1/amygdala/webhooks/{id}/dead", permission=Permission.ADMIN, response=WebhookLetters, problems=(404,))
async def webhook_letters(call: Call[Nothing, WebhookLettersQuery]) -> Response:
    """List the dead letters of a webhook."""
    webhook, query = await _named(call), call.query
    rows = await call.api.store.webhook_letters.webhook_dead_letters(
        webhook.workspace_id, webhook.id, query.limit + 1, query.after
    )
    letters = rows[: query.limit]
    shown = tuple(WebhookLetter.of(row, at=to_datetime(row.at) if row.at else None) for row in letters)
    following = letters[-1].seq if len(rows) > query.limit else None
    return respond_page(WebhookLetters(dead_letters=shown, count=len(shown), next_after=following))


async def _named(call: Call[Any, Any]) -> Webhook:
    webhook_id = id_in(call.path, "webhook")
    return found(await call.api.store.webhooks.webhook(call.actor.workspace_id, webhook_id), "webhook")


def _shown(row: Webhook, model: type[Shown]) -> Shown:
    waits = row.attempts > 0 and row.disabled_at is None
    due = to_datetime(row.next_attempt_at) if waits else None
    return model.of(row, enabled=row.disabled_at is None, next_attempt_at=due)
