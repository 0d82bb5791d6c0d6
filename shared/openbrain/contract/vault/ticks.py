"""Ticks of a vault."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from openbrain.contract.base import Answer, QueryString
from openbrain.domain import limits
from openbrain.domain.events.submission import Source
from openbrain.ports.store.vault import TickState


class TickQuery(QueryString):
    """The options of a tick."""

    dry_run: Annotated[bool, Field(description="Write nothing; the report has the diff.")] = False
    no_ai: Annotated[bool, Field(description="Do not ask the model.")] = False
    extract: Annotated[bool, Field(description="Make arcs of new transcripts first.")] = False
    source: Annotated[Source | None, Field(description="Who asks, where it is not the key's agent.")] = None


class TickStateQuery(QueryString):
    """The time for which a tick is watched."""

    wait: Annotated[
        int,
        Field(
            ge=0,
            le=limits.WAIT_SECONDS,
            description="Answer when it has ended or was put off, or after this many seconds.",
        ),
    ] = 0


class TickAccepted(Answer):
    """A tick that was asked for; one that the same key asked for before is that one."""

    job_id: str
    requested_at: datetime
    request_path: str = Field(description="Where it is watched.")
    dry_run: bool
    no_ai: bool
    status: TickState


class TickAnswer(Answer):
    """One tick."""

    job_id: str
    status: TickState
    slot: str | None = Field(description="What makes two requests the same tick; null for a dry run.")
    actor: str = Field(description="Who asked for it.")
    dry_run: bool
    no_ai: bool
    extract: bool
    requested_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None = Field(description="Why it failed; while it has not ended, why it was put off.")
    report: dict[str, Any] | None = Field(
        description="What each phase did, once it has ended; of a dry run with `diff`, what would be written."
    )
