"""Webhooks: where a workspace's broadcasts are posted, their delivery progress, and their dead letters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openbrain.domain.access.visibility import NEVER, Viewer
from openbrain.domain.signals.values import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A subscription. Times are microseconds."""

    id: str
    workspace_id: str
    url: str
    secret: str = field(repr=False)
    """Signs the bodies; not shown again."""
    min_severity: Severity = Severity.WARNING
    """The lowest severity that is posted. Compared with the highest severity of the signal, so that a receiver of an
    alarm also gets its end."""
    orgs: tuple[str, ...] | None = None
    """The orgs of the key that created it; None for all."""
    without_org: bool = True
    """True if a webhook limited to orgs also gets broadcasts without an org."""
    created_by: str
    created_at: int
    disabled_at: int | None = None
    cursor: int = 0
    """The seq up to which everything is delivered or given up."""
    attempts: int = 0
    """Failed attempts for the broadcast behind the cursor."""
    next_attempt_at: int = 0
    delivered_at: int | None = None
    error: str = ""
    """The error of the last attempt; '' if it succeeded."""

    def covers(self, org: str) -> bool:
        return Viewer(self.workspace_id, "", self.orgs, self.without_org).sees_org(org)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeadLetter:
    """A broadcast that could not be delivered to a webhook."""

    webhook_id: str
    workspace_id: str
    seq: int
    body: bytes = field(repr=False)
    """The event body to post."""
    attempts: int
    error: str
    at: int
    """When it was given up; 0: it waits to be posted again."""


class Webhooks(Protocol):
    async def add_webhook(self, webhook: Webhook, most: int) -> Webhook:
        """Add a webhook for broadcasts from now on (`cursor` is set here). Raise `NotFound` for an unknown workspace,
        `Conflict` if the workspace has `most` already."""

    async def webhook(self, workspace_id: str, webhook_id: str) -> Webhook | None: ...

    async def webhooks(self, workspace_id: str, limit: int, after: tuple[int, str] | None = None) -> Sequence[Webhook]:
        """List webhooks, oldest first. `after`: created_at and id of the last webhook of the previous page."""

    async def enable_webhook(self, workspace_id: str, webhook_id: str, *, enabled: bool) -> Webhook:
        """Enable or disable it. An enabled one continues at its cursor. Idempotent. Raise `NotFound` if unknown."""

    async def remove_webhook(self, workspace_id: str, webhook_id: str) -> bool:
        """Remove it and its dead letters. False if there is none."""

    async def due_webhooks(self, now: int, limit: int, after: str = "", latest: int = NEVER) -> Sequence[Webhook]:
        """List enabled webhooks whose next attempt is due and whose workspace has broadcasts behind their cursor, by
        id: first those behind the id `after`, so that each has its turn. An attempt planned for a time after `latest`
        is due: the clock was ahead then."""

    async def webhook_delivered(self, webhook_id: str, seq: int, at: int) -> bool:
        """Record that everything up to `seq` was delivered or did not concern it. The cursor never decreases. False if
        the webhook was removed or disabled meanwhile."""

    async def webhook_passed(self, webhook_id: str, seq: int) -> None:
        """Move the cursor to `seq`: nothing up to there concerns this webhook."""

    async def webhook_failed(self, webhook_id: str, attempts: int, next_attempt_at: int, error: str) -> None:
        """Record the failed attempts for the broadcast behind the cursor."""

    async def webhook_given_up(self, letter: WebhookDeadLetter) -> None:
        """Store the dead letter and move the cursor behind it."""


class WebhookLetters(Protocol):
    async def webhook_dead_letters(
        self, workspace_id: str, webhook_id: str, limit: int, after: int = 0
    ) -> Sequence[WebhookDeadLetter]:
        """List dead letters in order of `seq`, behind `after`."""

    async def count_webhook_dead_letters(self, workspace_id: str, webhook_id: str, seqs: Sequence[int] = ()) -> int:
        """Count its dead letters; with `seqs` only those."""

    async def replay_webhook_dead_letters(self, workspace_id: str, webhook_id: str, seqs: Sequence[int] = ()) -> int:
        """Queue its dead letters, all or only `seqs`, to be posted again. Return how many."""

    async def replayed_webhook_letters(self, limit: int) -> Sequence[tuple[Webhook, WebhookDeadLetter]]:
        """List dead letters that wait to be posted again, of enabled webhooks, ordered by webhook and seq."""

    async def webhook_letter_posted(self, webhook_id: str, seq: int) -> None:
        """Remove a dead letter that was posted again."""

    async def webhook_letter_refused(self, webhook_id: str, seq: int, error: str, at: int) -> None:
        """Record that posting a dead letter again failed."""

    async def purge_webhook_dead_letters(self, before: int, limit: int) -> int:
        """Remove dead letters given up before `before`. Return how many."""
