"""Ticks: runs that maintain a vault."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, model_validator

from openbrain.contract.base import Answer, Body, QueryString
from openbrain.domain import limits
from openbrain.domain.events.submission import Source
from openbrain.ports.store.vault import TickState


class TickQuery(QueryString, extra="forbid"):
    """The options of a tick. Unknown ones are refused: a misspelt `dry_run` would write."""

    dry_run: Annotated[bool, Field(description="Write nothing; the report contains the diff.")] = False
    no_ai: Annotated[bool, Field(description="Do not call the model.")] = False
    extract: Annotated[bool, Field(description="First create arcs from new transcripts.")] = False
    source: Annotated[Source | None, Field(description="Who requests it, if not the key's agent.")] = None


class TickBody(Body):
    """An empty body: the options of a tick are parameters of the URL. Members are refused, since a `dry_run` here would
    have no effect."""

    @model_validator(mode="before")
    @classmethod
    def _empty(cls, given: object) -> object:
        if given:
            raise ValueError("the options of a tick belong in the URL: POST /tick?dry_run=true")
        return {}


class TickStateQuery(QueryString):
    """How long to wait for a tick to end."""

    wait: Annotated[
        int,
        Field(
            ge=0,
            le=limits.WAIT_SECONDS,
            description="Respond when it has ended or was postponed, or after this many seconds.",
        ),
    ] = 0


class TickAccepted(Answer):
    """A requested tick; for a repeated idempotency key, the tick that was requested first."""

    job_id: str
    requested_at: datetime
    request_path: str = Field(description="Path at which its state can be read.")
    dry_run: bool
    no_ai: bool
    status: TickState


class TickAnswer(Answer):
    """One tick."""

    job_id: str
    status: TickState
    slot: str | None = Field(description="Requests with the same slot are the same tick; null for a dry run.")
    actor: str = Field(description="Who requested it.")
    dry_run: bool
    no_ai: bool
    extract: bool
    requested_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None = Field(description="Why it failed; or, while it has not ended, why it was postponed.")
    report: dict[str, Any] | None = Field(
        description="What each phase did; null until it has ended. For a dry run, `diff` is what would be written."
    )
