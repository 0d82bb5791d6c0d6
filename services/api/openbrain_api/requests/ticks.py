"""What the routes of ticks take."""

from typing import Annotated

from pydantic import Field

from openbrain.domain import limits
from openbrain.domain.submission import Source
from openbrain_api.requests.memories import QueryString


class TickQuery(QueryString):
    """What the tick does."""

    dry_run: Annotated[bool, Field(description="Write nothing; the report has the diff.")] = False
    no_ai: Annotated[bool, Field(description="Do not ask the model.")] = False
    extract: Annotated[bool, Field(description="Make arcs of new transcripts first.")] = False
    source: Annotated[Source | None, Field(description="Who asks, where it is not the key's agent.")] = None


class TickStateQuery(QueryString):
    """How long to watch it."""

    wait: Annotated[
        int,
        Field(
            ge=0,
            le=limits.WAIT_SECONDS,
            description="Answer when it has ended or was put off, or after this many seconds.",
        ),
    ] = 0
