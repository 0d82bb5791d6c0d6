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
    Field(description="An https:// URL of a host that the operator has allowed."),
]


class WebhookBody(Body, extra="forbid"):
    """The address to post to, and the lowest severity posted. Unknown members are refused: more would be posted than
    was meant."""

    url: Url
    min_severity: Severity = Severity.WARNING


class WebhookChangeBody(Body):
    """Enables or disables a webhook. When enabled again it continues where it stopped."""

    enabled: Annotated[bool, Field(strict=True)]


class WebhookReplayBody(Body, extra="forbid"):
    """The dead letters to post again; all if `seqs` is left out."""

    seqs: Annotated[tuple[Annotated[int, Field(strict=True, ge=1, le=MOST)], ...], Field(max_length=SEQS)] | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only report how many.")] = False


class WebhookRemoveQuery(QueryString, extra="forbid"):
    """Whether the webhook is really removed."""

    dry_run: Annotated[bool, Field(description="Only report what would be removed.")] = False


class WebhooksQuery(QueryString):
    """Selects a page of webhooks."""

    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None


class WebhookLettersQuery(QueryString):
    """Selects a page of dead letters."""

    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    after: Annotated[Seq, Field(description="Only dead letters after this number.")] = 0


class WebhookAnswer(Answer):
    """One webhook. Its secret was returned only when it was created."""

    id: str
    workspace_id: str = Field(
        default="", description="The workspace whose signals it receives: that of the key that created it."
    )
    url: str
    min_severity: Severity = Field(description="The lowest severity that is posted.")
    orgs: tuple[str, ...] | None = Field(description="The orgs whose signals it receives; null: all.")
    without_org: bool
    enabled: bool
    created_by: str
    created_at: datetime
    cursor: int = Field(description="Everything up to this number was delivered or given up.")
    attempts: int = Field(description="Failed attempts for the broadcast after the cursor.")
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    error: str | None = Field(description="Error of the last attempt.")


class WebhookCreated(WebhookAnswer):
    """A new webhook; its secret is only returned here."""

    secret: str


class WebhookList(Answer):
    """A page of webhooks, oldest first."""

    webhooks: tuple[WebhookAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class WebhookRemoved(Answer):
    """A removed webhook; with `dry_run` it stays."""

    id: str
    removed: bool
    dry_run: bool = False
    dead_letters: int = Field(default=0, description="Dead letters that are removed with it.")


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
    at: datetime | None = Field(description="When it became a dead letter; null while it waits to be posted again.")


class WebhookLetters(Answer):
    """A page of dead letters, in order of `seq`."""

    dead_letters: tuple[WebhookLetter, ...]
    count: int
    next_after: int | None = Field(
        default=None, description="Pass it as `after` for the next page; null on the last one."
    )
