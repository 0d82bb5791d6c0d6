"""Webhooks. All of it needs an admin key of the workspace."""

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
    """Methods of the client for webhooks."""

    _wire: Wire

    async def create_webhook(self, url: str, *, min_severity: Severity | str = Severity.WARNING) -> WebhookCreated:
        """Create a webhook for broadcasts from now on. The secret is in this answer and nowhere else."""
        body = {"url": url, "min_severity": str(min_severity)}
        return await self._wire.ask(WebhookCreated, "POST", WEBHOOKS, body=body, repeat=False)

    async def webhooks(self, *, limit: int | None = None, cursor: str | None = None) -> WebhookList:
        """A page, oldest first."""
        return await self._wire.ask(WebhookList, "GET", WEBHOOKS, query={"limit": limit, "cursor": cursor})

    async def webhook(self, webhook_id: str) -> WebhookAnswer:
        """One: how far it has come, and what its last attempt met."""
        return await self._wire.ask(WebhookAnswer, "GET", _path(webhook_id))

    async def enable_webhook(self, webhook_id: str, *, enabled: bool = True) -> WebhookAnswer:
        """Post to it no more, or again from where it stopped."""
        return await self._wire.ask(WebhookAnswer, "PATCH", _path(webhook_id), body={"enabled": enabled})

    async def remove_webhook(self, webhook_id: str, *, dry_run: bool = False) -> WebhookRemoved:
        """End it, with its dead letters. `dry_run`: only tell what would go."""
        query = {"dry_run": "true" if dry_run else None}
        return await self._wire.ask(WebhookRemoved, "DELETE", _path(webhook_id), query=query)

    async def webhook_dead_letters(
        self, webhook_id: str, *, limit: int | None = None, after: int = 0
    ) -> WebhookLetters:
        """A page of what it could not be given."""
        query = {"limit": limit, "after": after}
        return await self._wire.ask(WebhookLetters, "GET", f"{_path(webhook_id)}/dead", query=query)

    async def replay_webhook_dead_letters(
        self, webhook_id: str, seqs: Sequence[int] = (), *, dry_run: bool = False
    ) -> WebhookReplayed:
        """Post them again, all or these, once each: what is not taken is a dead letter again."""
        body = {**filled(seqs=list(seqs)), "dry_run": dry_run}
        return await self._wire.ask(WebhookReplayed, "POST", f"{_path(webhook_id)}/dead:replay", body=body)


def _path(webhook_id: str) -> str:
    return f"{WEBHOOKS}/{in_path(webhook_id)}"
