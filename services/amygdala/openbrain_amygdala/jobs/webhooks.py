"""Posts broadcasts to webhooks: in order, at least once, with a limited number of attempts."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from openbrain.domain.errors import NeverRetry, OpenBrainError
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.broadcast_events import veiled
from openbrain.domain.signals.values import BroadcastRow, Severity
from openbrain.domain.tasks import all_ended
from openbrain.observability import metrics
from openbrain.ports.http import Poster
from openbrain.ports.store.store import Store
from openbrain.ports.store.webhooks import Webhook, WebhookDeadLetter

AT_ONCE = 100
"""Maximum broadcasts per webhook and round."""
ROUND_S = 5.0
"""After this long a round begins no further post: other webhooks wait for its end, and a long one counts as stuck."""


@dataclass(slots=True)
class Posting:
    """One round for one webhook. `backoff_s`: the waits after failed attempts; if the attempt after the last wait fails
    too, the broadcast becomes a dead letter."""

    store: Store
    poster: Poster
    backoff_s: Sequence[float]
    after: str = ""
    """The webhook whose turn was the last."""

    async def __call__(self, webhook: Webhook) -> int:
        """Post the next broadcasts. Return the number delivered. Stops at the first failure, to keep the order."""
        delivered, passed, until = 0, webhook.cursor, time.monotonic() + ROUND_S
        attempts = webhook.attempts
        for row in await self.store.broadcasts.broadcasts_after(webhook.workspace_id, webhook.cursor, AT_ONCE):
            if concerns(webhook, row):
                if delivered and time.monotonic() > until:
                    break
                body = row.body if webhook.covers(row.org) else veiled(row.body)
                try:
                    await self.poster.post(webhook, row.seq, body)
                except OpenBrainError as error:
                    await self._failed(webhook, row.seq, body, attempts + 1, error)
                    return delivered
                metrics.WEBHOOK_POSTS.labels("delivered").inc()
                delivered, attempts = delivered + 1, 0
                if not await self.store.webhooks.webhook_delivered(webhook.id, row.seq, await self.store.time()):
                    return delivered
            passed = row.seq
        await self.store.webhooks.webhook_passed(webhook.id, passed)
        return delivered

    async def _failed(self, webhook: Webhook, seq: int, body: bytes, attempts: int, error: OpenBrainError) -> None:
        now = await self.store.time()
        if attempts <= len(self.backoff_s) and not isinstance(error, NeverRetry):
            metrics.WEBHOOK_POSTS.labels("failed").inc()
            due = now + round(self.backoff_s[attempts - 1] * MICROSECONDS)
            await self.store.webhooks.webhook_failed(webhook.id, attempts, due, str(error))
            return
        metrics.WEBHOOK_POSTS.labels("dead").inc()
        letter = WebhookDeadLetter(
            webhook_id=webhook.id,
            workspace_id=webhook.workspace_id,
            seq=seq,
            body=body,
            attempts=attempts,
            error=str(error),
            at=now,
        )
        await self.store.webhooks.webhook_given_up(letter)


async def post_due(store: Store, posting: Posting, at_once: int) -> int:
    """Post to all due webhooks concurrently. Return the number of broadcasts delivered."""
    now = await store.time()
    latest = now + round(max(posting.backoff_s, default=0) * MICROSECONDS)
    due = await store.webhooks.due_webhooks(now, at_once, posting.after, latest)
    if due:
        posting.after = due[-1].id
    return sum(await all_ended(posting(item) for item in due))


async def post_again(store: Store, poster: Poster, limit: int) -> int:
    """Post dead letters marked for replay once each, independently of live broadcasts. Return the number tried. A
    failed one is a dead letter again."""

    until = time.monotonic() + ROUND_S

    async def of_one(letters: Sequence[tuple[Webhook, WebhookDeadLetter]]) -> int:
        for tried, (webhook, letter) in enumerate(letters):
            if tried and time.monotonic() > until:
                return tried
            try:
                await poster.post(webhook, letter.seq, letter.body)
            except OpenBrainError as error:
                metrics.WEBHOOK_POSTS.labels("dead").inc()
                await store.webhook_letters.webhook_letter_refused(
                    webhook.id, letter.seq, str(error), await store.time()
                )
            else:
                metrics.WEBHOOK_POSTS.labels("delivered").inc()
                await store.webhook_letters.webhook_letter_posted(webhook.id, letter.seq)
        return len(letters)

    replayed = await store.webhook_letters.replayed_webhook_letters(limit)
    each_ones = itertools.groupby(replayed, key=lambda pair: pair[0].id)
    return sum(await all_ended([of_one(list(letters)) for _, letters in each_ones]))


def concerns(webhook: Webhook, row: BroadcastRow) -> bool:
    """True if this broadcast is posted to the webhook: its signal was raised with at least the minimum severity, and it
    is for everyone or for an org that the webhook may hear of."""
    raised = Severity(orjson.loads(row.body)["data"]["raised_severity"])
    return raised.rank >= webhook.min_severity.rank and (row.everyone or webhook.covers(row.org))
