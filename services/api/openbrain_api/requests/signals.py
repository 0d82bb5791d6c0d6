"""What the routes of signals, halts and listening take."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from openbrain.domain import limits
from openbrain.domain.signals.values import HaltScope, HaltState, Severity, SignalState
from openbrain.domain.submission import Agent, Keyword, Moment, Note, Org, Project, Source
from openbrain.domain.text.control_characters import plain_text
from openbrain.domain.times import from_datetime
from openbrain.ports.signals import SignalFilter
from openbrain_api.requests.memories import CURSOR, Body, QueryString

TTL_S = 365 * 86_400
SEQ = 2**53 - 1
STREAM_S = 86_400
WITHIN_S = 30 * 86_400


class Via(StrEnum):
    """How an agent listens."""

    REDIS = "redis"
    SSE = "sse"
    POLL = "poll"


Title = Annotated[Keyword, Field(description="One line: what burns.")]
Text = Annotated[str, StringConstraints(max_length=limits.CONTENT_CHARS), AfterValidator(plain_text)]
Ttl = Annotated[int, Field(strict=True, ge=1, le=TTL_S, description="Seconds, after which it expires by itself.")]
Seq = Annotated[int, Field(ge=0, le=SEQ)]
PageSize = Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)]
Cursor = Annotated[str, Field(pattern=CURSOR, description="The next_cursor of an answer: list what follows it.")]
Within = Annotated[int, Field(ge=1, le=WITHIN_S, description="Seconds; null takes the setting.")]


class SignalBody(Body):
    """Something burns."""

    source: Annotated[Source, Field(description="What says so: a service, a host, a check.")]
    severity: Severity
    title: Title
    content: Annotated[Text, Field(description="What is known, and what to do.")] = ""
    dedup_key: Annotated[
        Keyword | None, Field(description="Raises of one source with the same key are one signal; else what it says.")
    ] = None
    ttl_s: Ttl | None = None
    halt: Annotated[bool, Field(strict=True, description="Everyone stops; a nuclear one halts without it.")] = False
    halt_scope: Annotated[HaltScope | None, Field(description="Whom the halt stops; null: the workspace.")] = None
    org: Org | None = None
    project: Project | None = None


class HaltBody(Body):
    """Everyone stops."""

    title: Title
    content: Annotated[Text, Field(description="Why, and what must be done before anyone goes on.")] = ""
    scope: Annotated[HaltScope | None, Field(description="null: the workspace.")] = None
    org: Annotated[Org | None, Field(description="Of a halt of an org or a project.")] = None
    project: Annotated[Project | None, Field(description="Of a halt of a project.")] = None
    ttl_s: Ttl | None = None
    source: Annotated[Source | None, Field(description="null: who asks.")] = None
    dedup_key: Annotated[Keyword | None, Field(description="Raises of one source with the same key are one.")] = None


class NoteBody(Body):
    """Why."""

    note: Note | None = None


class AckBody(NoteBody):
    """What was heard."""

    seq: Annotated[
        int | None,
        Field(strict=True, ge=1, le=SEQ, description="Of the broadcast that was heard: what is stronger is not meant."),
    ] = None


class SignalsQuery(QueryString):
    """Which signals."""

    many = frozenset({"state"})

    state: Annotated[tuple[SignalState, ...], Field(max_length=len(SignalState))] = ()
    min_severity: Annotated[Severity | None, Field(description="That one or worse.")] = None
    source: Source | None = None
    org: Org | None = None
    project: Project | None = None
    since: Annotated[Moment | None, Field(description="First raised then or later.")] = None
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None

    def asked(self) -> SignalFilter:
        """As the truth takes it."""
        return SignalFilter(
            states=self.state,
            min_severity=self.min_severity,
            source=self.source or "",
            org=self.org or "",
            project=self.project or "",
            since=None if self.since is None else from_datetime(self.since),
        )


class HaltsQuery(QueryString):
    """Which halts."""

    many = frozenset({"state"})

    state: Annotated[tuple[HaltState, ...], Field(max_length=len(HaltState))] = ()
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None


class HaltQuery(QueryString):
    """Whose acknowledgement counts as missing."""

    within_s: Within | None = None


class SubscribersQuery(QueryString):
    """Who was heard of lately."""

    within_s: Within | None = None
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[Agent | None, Field(description="The next_cursor of an answer: list what follows it.")] = None


class PlaceQuery(QueryString):
    """Where the listener works: a halt of another org or project is none of his."""

    org: Org | None = None
    project: Project | None = None


class StateQuery(PlaceQuery):
    """Who asks: a look, or a listener."""

    cursor: Annotated[
        Seq | None,
        Field(description="Up to where the asking agent has handled everything: it counts as heard of; null: a look."),
    ] = None
    via: Annotated[Via, Field(description="How it hears what comes.")] = Via.POLL


class StreamQuery(PlaceQuery):
    """From where, and for how long."""

    after: Annotated[
        Seq | None, Field(description="The last number that was heard; the header Last-Event-ID says the same.")
    ] = None
    seconds: Annotated[
        int | None, Field(ge=0, le=STREAM_S, description="End after so long; 0: with what was missed; null: never.")
    ] = None


class BroadcastsQuery(PlaceQuery):
    """From where, and how long to wait."""

    after: Annotated[Seq, Field(description="Tell what stands behind this number.")] = 0
    limit: PageSize = limits.LIST_LIMIT
    wait: Annotated[
        int,
        Field(ge=0, le=limits.WAIT_SECONDS, description="Answer when there is something, or after this many seconds."),
    ] = 0
