"""Webhooks: make, list, switch, remove."""

from typing import Any

from openbrain.errors import Forbidden, NotFound
from openbrain.ids import is_uuid, uuid7
from openbrain.ports.webhooks import Webhook
from openbrain.signals.webhook_rules import checked_url, new_secret
from openbrain_api.http.reading import position
from openbrain_api.http.reply import Reply, answer
from openbrain_api.http.route import Call, Nothing
from openbrain_api.rendering import Json, to_iso
from openbrain_api.requests.webhooks import WebhookBody, WebhookChangeBody, WebhookLettersQuery, WebhooksQuery


async def create_webhook(call: Call[WebhookBody, Nothing]) -> Reply:
    """It is posted what is broadcast from now on; the secret is in this answer only."""
    settings, actor, now = call.api.settings.webhooks, call.actor, call.api.clock.now()
    if not settings.enabled:
        raise Forbidden("webhooks are off here: an operator turns them on with OPENBRAIN_WEBHOOKS__ENABLED")
    checked_url(call.body.url, settings.hosts, settings.private_hosts)
    made = await call.api.truth.add_webhook(
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
        settings.most,
    )
    shown = {**_webhook_json(made), "secret": made.secret}
    return answer(shown, shown, status=201)


async def webhooks(call: Call[Nothing, WebhooksQuery]) -> Reply:
    """The workspace's, oldest first."""
    query = call.query
    found = await call.api.truth.webhooks(call.actor.workspace_id, query.limit, position(query.cursor))
    data = {"webhooks": [_webhook_json(each) for each in found], "count": len(found)}
    last = found[-1] if len(found) == query.limit else None
    return answer({**data, "next_cursor": last and f"{last.created_at}.{last.id}"}, data)


async def webhook(call: Call[Nothing, Nothing]) -> Reply:
    """One: how far it has come, and what its last attempt met."""
    shown = _webhook_json(await _found(call))
    return answer(shown, shown)


async def change_webhook(call: Call[WebhookChangeBody, Nothing]) -> Reply:
    """Post to it no more, or again."""
    found = await _found(call)
    changed = await call.api.truth.enable_webhook(found.workspace_id, found.id, enabled=call.body.enabled)
    shown = _webhook_json(changed)
    return answer(shown, shown)


async def remove_webhook(call: Call[Nothing, Nothing]) -> Reply:
    """End it, with its dead letters."""
    found = await _found(call)
    if not await call.api.truth.remove_webhook(found.workspace_id, found.id):
        raise _unknown()
    shown = {"id": found.id, "removed": True}
    return answer(shown, shown)


async def webhook_letters(call: Call[Nothing, WebhookLettersQuery]) -> Reply:
    """What it could not be given, without what was said."""
    webhook, query = await _found(call), call.query
    found = await call.api.truth.webhook_dead_letters(webhook.workspace_id, webhook.id, query.limit, query.after)
    letters: list[Json] = [
        {"seq": each.seq, "attempts": each.attempts, "error": each.error, "at": to_iso(each.at)} for each in found
    ]
    data = {"dead_letters": letters, "count": len(found)}
    return answer({**data, "next_after": found[-1].seq if len(found) == query.limit else None}, data)


async def _found(call: Call[Any, Any]) -> Webhook:
    given = call.path["id"].lower()
    found = await call.api.truth.webhook(call.actor.workspace_id, given) if is_uuid(given) else None
    if found is None:
        raise _unknown()
    return found


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
