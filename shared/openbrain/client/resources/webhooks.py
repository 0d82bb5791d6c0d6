"""Client methods for webhooks. All need an admin key of the workspace."""

from collections.abc import Sequence

from openbrain.client.wire import Wire, filled, in_path
from openbrain.contract.amygdala.webhooks import (
    WebhookAnswer,
    WebhookCreated,
    WebhookLetters,
    WebhookList,
    WebhookRemoved,
    WebhookReplayed,
)
from openbrain.domain.signals.values import Severity

WEBHOOKS = "/v1/amygdala/webhooks"


class Webhooks:
    """Client methods for webhooks."""

    _wire: Wire

    async def create_webhook(self, url: str, *, min_severity: Severity | str = Severity.WARNING) -> WebhookCreated:
        """Create a webhook for broadcasts from now on. Its secret is only in this response."""
        body = {"url": url, "min_severity": str(min_severity)}
        return await self._wire.ask(WebhookCreated, "POST", WEBHOOKS, body=body, repeat=False)

    async def webhooks(self, *, limit: int | None = None, cursor: str | None = None) -> WebhookList:
        """Return a page of webhooks, oldest first."""
        return await self._wire.ask(WebhookList, "GET", WEBHOOKS, query={"limit": limit, "cursor": cursor})

    async def webhook(self, webhook_id: str) -> WebhookAnswer:
        """Return one webhook: how far it has delivered, and the error of its last attempt."""
        return await self._wire.ask(WebhookAnswer, "GET", _path(webhook_id))

    async def enable_webhook(self, webhook_id: str, *, enabled: bool = True) -> WebhookAnswer:
        """Enable or disable a webhook. When enabled again it continues where it stopped."""
        return await self._wire.ask(WebhookAnswer, "PATCH", _path(webhook_id), body={"enabled": enabled})

    async def remove_webhook(self, webhook_id: str, *, dry_run: bool = False) -> WebhookRemoved:
        """Remove a webhook and its dead letters. `dry_run`: only report what would be removed."""
        query = {"dry_run": "true" if dry_run else None}
        gone = None if dry_run else WebhookRemoved(id=webhook_id, removed=True)
        return await self._wire.ask(WebhookRemoved, "DELETE", _path(webhook_id), query=query, gone=gone)

    async def webhook_dead_letters(
        self, webhook_id: str, *, limit: int | None = None, after: int = 0
    ) -> WebhookLetters:
        """Return a page of a webhook's dead letters."""
        query = {"limit": limit, "after": after}
        return await self._wire.ask(WebhookLetters, "GET", f"{_path(webhook_id)}/dead", query=query)

    async def replay_webhook_dead_letters(
        self, webhook_id: str, seqs: Sequence[int] = (), *, dry_run: bool = False
    ) -> WebhookReplayed:
        """Post dead letters again, all or those in `seqs`, once each. One that is not accepted becomes a dead letter
        again."""
        body = {**filled(seqs=list(seqs)), "dry_run": dry_run}
        return await self._wire.ask(WebhookReplayed, "POST", f"{_path(webhook_id)}/dead:replay", body=body)


def _path(webhook_id: str) -> str:
    return f"{WEBHOOKS}/{in_path(webhook_id)}"
