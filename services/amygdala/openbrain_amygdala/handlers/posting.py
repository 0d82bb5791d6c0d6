"""Giving broadcasts to webhooks: in order, at least once, and never for ever to one that takes none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from openbrain import telemetry
from openbrain.errors import NeverRetry, OpenBrainError
from openbrain.memory import MICROSECONDS
from openbrain.ports.keeping import Upkeep
from openbrain.ports.signals import Signals
from openbrain.ports.webhooks import Poster, Webhook, WebhookDeadLetter, Webhooks
from openbrain.signals.broadcast_events import veiled
from openbrain.signals.values import BroadcastRow, Severity

AT_ONCE = 100
"""Broadcasts that one webhook is given in one round, at most."""


class Truth(Signals, Webhooks, Upkeep, Protocol):
    """Where broadcasts and webhooks stand."""


@dataclass(frozen=True, slots=True)
class Posting:
    """One round for one webhook. `backoff_s`: the waits after failed attempts; after the last comes a dead letter."""

    truth: Truth
    poster: Poster
    backoff_s: Sequence[float]

    async def __call__(self, webhook: Webhook) -> int:
        """How many were delivered. Ends at the first that was not taken: the order is kept."""
        delivered, passed = 0, webhook.cursor
        attempts = webhook.attempts
        for row in await self.truth.broadcasts_after(webhook.workspace_id, webhook.cursor, AT_ONCE):
            if concerns(webhook, row):
                try:
                    await self.poster.post(webhook, row.seq, row.body if webhook.hears(row.org) else veiled(row.body))
                except OpenBrainError as error:
                    await self._failed(webhook, row, attempts + 1, error)
                    return delivered
                telemetry.WEBHOOK_POSTS.labels("delivered").inc()
                await self.truth.webhook_delivered(webhook.id, row.seq, await self.truth.time())
                delivered, attempts = delivered + 1, 0
            passed = row.seq
        await self.truth.webhook_passed(webhook.id, passed)
        return delivered

    async def _failed(self, webhook: Webhook, row: BroadcastRow, attempts: int, error: OpenBrainError) -> None:
        now = await self.truth.time()
        if attempts <= len(self.backoff_s) and not isinstance(error, NeverRetry):
            telemetry.WEBHOOK_POSTS.labels("failed").inc()
            due = now + round(self.backoff_s[attempts - 1] * MICROSECONDS)
            await self.truth.webhook_failed(webhook.id, attempts, due, str(error))
            return
        telemetry.WEBHOOK_POSTS.labels("dead").inc()
        letter = WebhookDeadLetter(
            webhook_id=webhook.id,
            workspace_id=webhook.workspace_id,
            seq=row.seq,
            body=row.body,
            attempts=attempts,
            error=str(error),
            at=now,
        )
        await self.truth.webhook_given_up(letter)


def concerns(webhook: Webhook, row: BroadcastRow) -> bool:
    """Whether this broadcast is posted to it: what it may hear of, about a signal that is or was strong enough."""
    raised = Severity(orjson.loads(row.body)["data"]["raised_severity"])
    return raised.rank >= webhook.min_severity.rank and (row.everyone or webhook.hears(row.org))
