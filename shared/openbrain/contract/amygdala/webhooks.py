"""Webhooks."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from openbrain.contract.amygdala.signals import Cursor
from openbrain.contract.base import Answer, Body, PageSize, QueryString
from openbrain.domain import limits
from openbrain.domain.events.data import MOST, Seq
from openbrain.domain.events.submission import Line
from openbrain.domain.signals.values import Severity
from openbrain.domain.signals.webhook_rules import URL_CHARS

SEQS = 500
Url = Annotated[
    str,
    Line(max_length=URL_CHARS),
    Field(description="https:// of a host on the operator's list."),
]


class WebhookBody(Body):
    """The address to post to, and the lowest severity posted."""

    url: Url
    min_severity: Severity = Severity.WARNING


class WebhookChangeBody(Body):
    """Whether it is posted to. One that was disabled goes on where it stopped."""

    enabled: Annotated[bool, Field(strict=True)]


class WebhookReplayBody(Body):
    """The dead letters to post again; all without `seqs`."""

    seqs: Annotated[tuple[Annotated[int, Field(strict=True, ge=1, le=MOST)], ...], Field(max_length=SEQS)] | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only tell how many.")] = False


class WebhookRemoveQuery(QueryString):
    """Whether it really goes."""

    dry_run: Annotated[bool, Field(description="Only tell what would go.")] = False


class WebhooksQuery(QueryString):
    """A page."""

    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None


class WebhookLettersQuery(QueryString):
    """A page."""

    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    after: Annotated[Seq, Field(description="Those behind this number.")] = 0


class WebhookAnswer(Answer):
    """One webhook. Its secret was shown when it was made."""

    id: str
    workspace_id: str = Field(default="", description="The workspace that it hears: that of the key that made it.")
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
    """A removed webhook; with `dry_run` it stays."""

    id: str
    removed: bool
    dry_run: bool = False
    dead_letters: int = Field(default=0, description="That go with it.")


class WebhookReplayed(Answer):
    """The dead letters to post again, once each; one that is not accepted becomes a dead letter again."""

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
