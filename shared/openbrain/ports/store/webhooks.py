"""Webhooks: where a workspace's broadcasts are posted to, how far each has come, and how one is posted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.signals.values import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A subscription. Times are microseconds."""

    id: str
    workspace_id: str
    url: str
    secret: str = field(repr=False)
    """The signing secret of bodies; never shown again."""
    min_severity: Severity = Severity.WARNING
    """The weakest that is posted, by the strongest that the signal was raised with: who heard it burn hears its end."""
    orgs: tuple[str, ...] | None = None
    """Of the key that made it; None for all."""
    without_org: bool = True
    """Whether one limited to orgs also hears of what belongs to none."""
    created_by: str
    created_at: int
    disabled_at: int | None = None
    cursor: int = 0
    """The seq up to which everything is delivered or given up."""
    attempts: int = 0
    """Failed ones, for the broadcast behind the cursor."""
    next_attempt_at: int = 0
    delivered_at: int | None = None
    error: str = ""
    """Of the last attempt; '' where it succeeded."""

    def hears(self, org: str) -> bool:
        return Viewer(self.workspace_id, "", self.orgs, self.without_org).sees_org(org)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeadLetter:
    """A broadcast that a webhook could not be given."""

    webhook_id: str
    workspace_id: str
    seq: int
    body: bytes = field(repr=False)
    """The event as it would have been posted."""
    attempts: int
    error: str
    at: int
    """The time at which it was given up; 0: it waits to be posted again."""


class Webhooks(Protocol):
    async def add_webhook(self, webhook: Webhook, most: int) -> Webhook:
        """Add a webhook for broadcasts from now on (`cursor` is set here). `NotFound` for an unknown workspace,
        `Conflict` where the workspace has `most` already."""

    async def webhook(self, workspace_id: str, webhook_id: str) -> Webhook | None: ...

    async def webhooks(self, workspace_id: str, limit: int, after: tuple[int, str] | None = None) -> Sequence[Webhook]:
        """Oldest first; `after` (created_at and id of one) lists those that follow it."""

    async def enable_webhook(self, workspace_id: str, webhook_id: str, *, enabled: bool) -> Webhook:
        """One that was disabled goes on where it stopped; again: the same. `NotFound`."""

    async def remove_webhook(self, workspace_id: str, webhook_id: str) -> bool:
        """With its dead letters; False where there is none."""

    async def due_webhooks(self, now: int, limit: int) -> Sequence[Webhook]:
        """Enabled ones whose next attempt is due and whose workspace has broadcasts behind their cursor, the longest
        due first."""

    async def webhook_delivered(self, webhook_id: str, seq: int, at: int) -> None:
        """Everything up to `seq` is delivered, or is none of its business. A cursor only rises."""

    async def webhook_passed(self, webhook_id: str, seq: int) -> None:
        """Skip all from its cursor to `seq`: none of it is for this webhook."""

    async def webhook_failed(self, webhook_id: str, attempts: int, next_attempt_at: int, error: str) -> None:
        """So many attempts failed for the broadcast behind the cursor."""

    async def webhook_given_up(self, letter: WebhookDeadLetter) -> None:
        """Keep the dead letter and go on behind it."""


class WebhookLetters(Protocol):
    async def webhook_dead_letters(
        self, workspace_id: str, webhook_id: str, limit: int, after: int = 0
    ) -> Sequence[WebhookDeadLetter]:
        """In order of `seq`, behind `after`."""

    async def count_webhook_dead_letters(self, workspace_id: str, webhook_id: str, seqs: Sequence[int] = ()) -> int:
        """The number of its dead letters; with `seqs` of these."""

    async def replay_webhook_dead_letters(self, workspace_id: str, webhook_id: str, seqs: Sequence[int] = ()) -> int:
        """Let them be posted again, all or these; how many there are."""

    async def replayed_webhook_letters(self, limit: int) -> Sequence[tuple[Webhook, WebhookDeadLetter]]:
        """Letters that wait to be posted again, of enabled webhooks, in order of webhook and seq."""

    async def webhook_letter_posted(self, webhook_id: str, seq: int) -> None:
        """Remove a dead letter that was posted again."""

    async def webhook_letter_refused(self, webhook_id: str, seq: int, error: str, at: int) -> None:
        """Note that posting a dead letter again failed."""

    async def purge_webhook_dead_letters(self, before: int, limit: int) -> int:
        """Remove those that died before that time; how many."""
