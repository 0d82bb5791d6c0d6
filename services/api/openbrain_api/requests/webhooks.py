"""What the routes of webhooks take."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from openbrain.domain import limits
from openbrain.domain.signals.values import Severity
from openbrain.domain.signals.webhook_rules import URL_CHARS
from openbrain.domain.text.control_characters import plain_line
from openbrain_api.requests.memories import Body, QueryString
from openbrain_api.requests.signals import SEQ, Cursor, PageSize, Seq

SEQS = 500


class WebhookBody(Body):
    """Where to post, and from which severity on."""

    url: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=URL_CHARS),
        AfterValidator(plain_line),
        Field(description="https:// of a host on the operator's list."),
    ]
    min_severity: Severity = Severity.WARNING


class WebhookChangeBody(Body):
    """Whether it is posted to. One that was disabled goes on where it stopped."""

    enabled: Annotated[bool, Field(strict=True)]


class WebhookReplayBody(Body):
    """Which dead letters are posted again; all without `seqs`."""

    seqs: Annotated[tuple[Annotated[int, Field(strict=True, ge=1, le=SEQ)], ...], Field(max_length=SEQS)] | None = None
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
