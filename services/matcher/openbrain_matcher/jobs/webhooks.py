"""Job `webhooks`: post matches of standing queries to the URLs that their agents gave, in order and at least once. The
inbox has them too, so a match that is given up is not lost."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from openbrain.contract.messages import MessageAnswer
from openbrain.domain.errors import NeverRetry, OpenBrainError
from openbrain.domain.events.envelope import encode
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.tasks import all_ended
from openbrain.observability import metrics
from openbrain.ports.agents import Message
from openbrain.ports.clock import Clock
from openbrain.ports.http import Poster
from openbrain.ports.store.store import Store
from openbrain.ports.subscriptions import QueryWebhook, StandingQuery
from openbrain.usecases.content.inbox import last_number, shown_messages

EVENT = "memory.matched"
PAGE = 100
"""Messages of an inbox read per webhook and round."""
ROUND_S = 5.0
"""After this long a round begins no further post: other webhooks wait for its end, and a long one counts as stuck."""


@dataclass(slots=True)
class Posting:
    """One round for one webhook. `backoff_s`: the waits after failed attempts; if the attempt after the last wait fails
    too, the match is given up."""

    store: Store
    poster: Poster
    clock: Clock
    backoff_s: Sequence[float]
    after: str = ""
    """The webhook whose turn was the last."""

    async def __call__(self, query: StandingQuery, webhook: QueryWebhook) -> int:
        """Post the next messages. Return their number. Stops at the first to be retried, to keep the order."""
        until = time.monotonic() + ROUND_S
        # Read before the inbox, so that the cursor does not skip a message that arrives in between.
        last = await last_number(self.store.messages, query.viewer)
        rows = await self.store.messages.inbox(query.viewer, PAGE, webhook.cursor)
        posted = 0
        for row in rows:
            if row.subscription_id != query.id:
                continue
            after = await self._post(query, webhook, row)
            saved = await self.store.query_webhooks.save_progress(after)
            if after.attempts:
                return posted
            posted, webhook = posted + int(not after.error), after
            if not saved or time.monotonic() > until:
                return posted
        through = rows[-1].seq if len(rows) == PAGE else max(last, webhook.cursor)
        await self.store.query_webhooks.save_progress(replace(webhook, cursor=through))
        return posted

    async def _post(self, query: StandingQuery, webhook: QueryWebhook, row: Message) -> QueryWebhook:
        """Post one message. Return the webhook's new state. Visibility is checked right before sending."""
        now = self.clock.now()
        (message,) = await shown_messages(self.store.memories, query.viewer, [row], now)
        try:
            await self.poster.post(webhook, row.seq, _event(message, now))
        except OpenBrainError as error:
            return self._failed(webhook, row.seq, error)
        metrics.WEBHOOK_POSTS.labels("delivered").inc()
        return replace(webhook, cursor=row.seq, attempts=0, next_attempt_at=0, delivered_at=self.clock.now(), error="")

    def _failed(self, webhook: QueryWebhook, seq: int, error: OpenBrainError) -> QueryWebhook:
        attempts, reason = webhook.attempts + 1, str(error)
        if attempts <= len(self.backoff_s) and not isinstance(error, NeverRetry):
            metrics.WEBHOOK_POSTS.labels("failed").inc()
            due = self.clock.now() + round(self.backoff_s[attempts - 1] * MICROSECONDS)
            return replace(webhook, attempts=attempts, next_attempt_at=due, error=reason)
        metrics.WEBHOOK_POSTS.labels("dead").inc()
        given_up = webhook.given_up + 1
        return replace(webhook, cursor=seq, attempts=0, next_attempt_at=0, given_up=given_up, error=reason)


async def post_due(posting: Posting, at_once: int) -> int:
    """Post to all due webhooks concurrently. Return their number."""
    now = posting.clock.now()
    latest = now + round(max(posting.backoff_s, default=0) * MICROSECONDS)
    due = await posting.store.query_webhooks.due(now, at_once, posting.after, latest)
    if due:
        _, last = due[-1]
        posting.after = last.id
    await all_ended(posting(query, webhook) for query, webhook in due)
    return len(due)


def _event(message: MessageAnswer, now: int) -> bytes:
    return encode(
        EVENT,
        message.model_dump(mode="json"),
        event_id=f"{message.id}-{message.seq}",
        at=now,
        subject=message.match.memory_id if message.match else None,
    )
