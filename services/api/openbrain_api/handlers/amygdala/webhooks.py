"""Webhooks: make, list, switch, remove."""

from typing import Any

from openbrain.contract.amygdala.webhooks import (
    WebhookAnswer,
    WebhookBody,
    WebhookChangeBody,
    WebhookCreated,
    WebhookLetters,
    WebhookLettersQuery,
    WebhookList,
    WebhookRemoved,
    WebhookRemoveQuery,
    WebhookReplayBody,
    WebhookReplayed,
    WebhooksQuery,
)
from openbrain.domain.errors import Forbidden, NotFound
from openbrain.domain.ids import is_uuid, uuid7
from openbrain.domain.permissions import Permission
from openbrain.domain.signals.webhook_rules import checked_url, new_secret
from openbrain.ports.webhooks import Webhook
from openbrain_api.http.parsing import position
from openbrain_api.http.response import Response, answer
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.rendering import Json, to_iso


@Route(
    "POST",
    "/v1/amygdala/webhooks",
    permission=Permission.ADMIN,
    response=WebhookCreated,
    statuses=(201,),
    problems=(404, 409),
)
async def create_webhook(call: Call[WebhookBody, Nothing]) -> Response:
    """Make a webhook; its secret is in this answer only.

    It is posted what is broadcast from now on.
    """
    settings, actor, now = call.api.settings.webhooks, call.actor, call.api.clock.now()
    _turned_on(call)
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
    shown = {**_webhook_json(made), "secret": made.secret}
    return answer(shown, shown, status=201)


@Route("GET", "/v1/amygdala/webhooks", permission=Permission.ADMIN, response=WebhookList)
async def webhooks(call: Call[Nothing, WebhooksQuery]) -> Response:
    """The workspace's webhooks, oldest first."""
    query = call.query
    found = await call.api.store.webhooks.webhooks(call.actor.workspace_id, query.limit, position(query.cursor))
    data = {"webhooks": [_webhook_json(each) for each in found], "count": len(found)}
    last = found[-1] if len(found) == query.limit else None
    return answer({**data, "next_cursor": last and f"{last.created_at}.{last.id}"}, data)


@Route("GET", "/v1/amygdala/webhooks/{id}", permission=Permission.ADMIN, response=WebhookAnswer, problems=(404,))
async def webhook(call: Call[Nothing, Nothing]) -> Response:
    """One webhook: how far it has come."""
    shown = _webhook_json(await _found(call))
    return answer(shown, shown)


@Route("PATCH", "/v1/amygdala/webhooks/{id}", permission=Permission.ADMIN, response=WebhookAnswer, problems=(404,))
async def change_webhook(call: Call[WebhookChangeBody, Nothing]) -> Response:
    """Post to a webhook no more, or again."""
    found = await _found(call)
    changed = await call.api.store.webhooks.enable_webhook(found.workspace_id, found.id, enabled=call.body.enabled)
    shown = _webhook_json(changed)
    return answer(shown, shown)


@Route("DELETE", "/v1/amygdala/webhooks/{id}", permission=Permission.ADMIN, response=WebhookRemoved, problems=(404,))
async def remove_webhook(call: Call[Nothing, WebhookRemoveQuery]) -> Response:
    """Remove a webhook, with its dead letters."""
    found, dry_run = await _found(call), call.query.dry_run
    letters = await call.api.store.webhook_letters.count_webhook_dead_letters(found.workspace_id, found.id)
    if not (dry_run or await call.api.store.webhooks.remove_webhook(found.workspace_id, found.id)):
        raise _unknown()
    shown = {"id": found.id, "removed": not dry_run, "dry_run": dry_run, "dead_letters": letters}
    return answer(shown, shown)


@Route(
    "POST",
    "/v1/amygdala/webhooks/{id}/dead:replay",
    permission=Permission.ADMIN,
    response=WebhookReplayed,
    problems=(404,),
)
async def replay_webhook_letters(call: Call[WebhookReplayBody, Nothing]) -> Response:
    """Post again what a webhook could not be given.

    Each once; what is not taken is a dead letter again.
    """
    found, seqs, dry_run = await _found(call), call.body.seqs or (), call.body.dry_run
    store = call.api.store
    if dry_run:
        count = await store.webhook_letters.count_webhook_dead_letters(found.workspace_id, found.id, seqs)
    else:
        _turned_on(call)
        count = await store.webhook_letters.replay_webhook_dead_letters(found.workspace_id, found.id, seqs)
    shown = {"id": found.id, "count": count, "dry_run": dry_run}
    return answer(shown, shown)


@Route("GET", "/v1/amygdala/webhooks/{id}/dead", permission=Permission.ADMIN, response=WebhookLetters, problems=(404,))
async def webhook_letters(call: Call[Nothing, WebhookLettersQuery]) -> Response:
    """What a webhook could not be given."""
    webhook, query = await _found(call), call.query
    found = await call.api.store.webhook_letters.webhook_dead_letters(
        webhook.workspace_id, webhook.id, query.limit, query.after
    )
    letters: list[Json] = [
        {
            "seq": each.seq,
            "attempts": each.attempts,
            "error": each.error,
            "at": to_iso(each.at) if each.at else None,
        }
        for each in found
    ]
    data = {"dead_letters": letters, "count": len(found)}
    return answer({**data, "next_after": found[-1].seq if len(found) == query.limit else None}, data)


async def _found(call: Call[Any, Any]) -> Webhook:
    given = call.path["id"].lower()
    found = await call.api.store.webhooks.webhook(call.actor.workspace_id, given) if is_uuid(given) else None
    if found is None:
        raise _unknown()
    return found


def _turned_on(call: Call[Any, Any]) -> None:
    if not call.api.settings.webhooks.enabled:
        raise Forbidden("webhooks are off here: an operator turns them on with OPENBRAIN_WEBHOOKS__ENABLED")


def _unknown() -> NotFound:
    return NotFound("no webhook with this id")


def _webhook_json(webhook: Webhook) -> Json:
    waits = webhook.attempts > 0 and webhook.disabled_at is None
    return {
        "id": webhook.id,
        "url": webhook.url,
        "min_severity": webhook.min_severity,
        "orgs": webhook.orgs,
        "without_org": webhook.without_org,
        "enabled": webhook.disabled_at is None,
        "created_by": webhook.created_by,
        "created_at": to_iso(webhook.created_at),
        "cursor": webhook.cursor,
        "attempts": webhook.attempts,
        "next_attempt_at": to_iso(webhook.next_attempt_at) if waits else None,
        "delivered_at": None if webhook.delivered_at is None else to_iso(webhook.delivered_at),
        "error": webhook.error or None,
    }
