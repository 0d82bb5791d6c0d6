"""Answers about webhooks."""

from datetime import datetime

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.domain.signals.values import Severity


class WebhookAnswer(Answer):
    """One webhook. Its secret was shown when it was made."""

    id: str
    url: str
    min_severity: Severity = Field(description="The weakest that is posted.")
    orgs: tuple[str, ...] | None = Field(description="What it may hear of; null for all.")
    without_org: bool
    enabled: bool
    created_by: str
    created_at: datetime
    cursor: int = Field(description="Everything up to this number is delivered, or given up.")
    attempts: int = Field(description="Failed ones, for what stands behind the cursor.")
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    error: str | None = Field(description="Of the last attempt.")


class WebhookCreated(WebhookAnswer):
    """A new webhook; the secret is in this answer only."""

    secret: str


class WebhookList(Answer):
    """Oldest first."""

    webhooks: tuple[WebhookAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class WebhookRemoved(Answer):
    """It is posted to no more; with `dry_run` it still is."""

    id: str
    removed: bool
    dry_run: bool = False
    dead_letters: int = Field(default=0, description="That go with it.")


class WebhookReplayed(Answer):
    """They are posted again, once each; what is not taken is a dead letter again."""

    id: str
    count: int
    dry_run: bool


class WebhookLetter(Answer):
    """A broadcast that could not be posted."""

    seq: int
    attempts: int
    error: str
    at: datetime | None = Field(description="When it died; null while it waits to be posted again.")


class WebhookLetters(Answer):
    """In order of `seq`."""

    dead_letters: tuple[WebhookLetter, ...]
    count: int
    next_after: int | None = Field(default=None, description="Give it as `after` to go on; null at the end.")
