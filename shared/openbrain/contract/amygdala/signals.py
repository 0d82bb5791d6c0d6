"""Signals and halts."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from openbrain.contract.base import CURSOR, Answer, Body, PageSize, QueryString
from openbrain.domain import limits
from openbrain.domain.events.data import MOST
from openbrain.domain.events.submission import Keyword, Moment, Note, Org, Project, Source
from openbrain.domain.signals.values import HaltScope, HaltState, Severity, SignalState
from openbrain.domain.text.control_characters import plain_text
from openbrain.domain.times import from_datetime
from openbrain.ports.store.signals import RaiseStatus, SignalFilter

TTL_S = 365 * 86_400
WITHIN_S = 30 * 86_400
Title = Annotated[Keyword, Field(description="One line: what burns.")]
Text = Annotated[str, StringConstraints(max_length=limits.CONTENT_CHARS), AfterValidator(plain_text)]
Ttl = Annotated[int, Field(strict=True, ge=1, le=TTL_S, description="Seconds, after which it expires by itself.")]
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
    """The acknowledgement of a signal."""

    seq: Annotated[
        int | None,
        Field(
            strict=True, ge=1, le=MOST, description="Of the broadcast that was heard: what is stronger is not meant."
        ),
    ] = None


class SignalsQuery(QueryString):
    """The filters of a list of signals."""

    many = frozenset({"state"})

    state: Annotated[tuple[SignalState, ...], Field(max_length=len(SignalState))] = ()
    min_severity: Annotated[Severity | None, Field(description="That one or worse.")] = None
    source: Source | None = None
    org: Org | None = None
    project: Project | None = None
    since: Annotated[Moment | None, Field(description="First raised then or later.")] = None
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None

    def filter(self) -> SignalFilter:
        return SignalFilter(
            states=self.state,
            min_severity=self.min_severity,
            source=self.source or "",
            org=self.org or "",
            project=self.project or "",
            since=None if self.since is None else from_datetime(self.since),
        )


class HaltsQuery(QueryString):
    """The filters of a list of halts."""

    many = frozenset({"state"})

    state: Annotated[tuple[HaltState, ...], Field(max_length=len(HaltState))] = ()
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor | None = None


class HaltQuery(QueryString):
    """The agents whose acknowledgement counts as missing."""

    within_s: Within | None = None


class SignalAnswer(Answer):
    """One signal."""

    id: str
    source: str
    title: str
    content: str
    severity: Severity = Field(description="The strongest that it was raised with.")
    broadcast_severity: Severity = Field(description="What agents hear: it falls with quiet.")
    state: SignalState
    org: str | None
    project: str | None
    dedup_key: str | None
    count: int = Field(description="Raises so far.")
    storm: bool = Field(description="Whether it stands for many signals of one source, which came too fast.")
    first_raised_at: datetime
    last_raised_at: datetime
    expires_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    ended_at: datetime | None
    ended_by: str | None
    note: str | None = Field(description="Why it was resolved.")
    seq: int = Field(description="Of its last broadcast.")


class Acknowledged(Answer):
    """The agents that have seen a signal, or stopped for a halt, and when first."""

    agent_id: str
    at: datetime


class SignalLine(Answer):
    """One line of the audit of a signal and its halt."""

    seq: int
    step: str
    actor: str
    at: datetime
    state: str
    severity: str
    broadcast_severity: str
    count: int
    note: str | None
    halt_id: str | None


class SignalDetail(SignalAnswer):
    """One signal, who has seen it, and what happened to it."""

    acks: tuple[Acknowledged, ...]
    history: tuple[SignalLine, ...]


class HaltAnswer(Answer):
    """One halt: everyone in its scope stops until it ends."""

    id: str
    signal_id: str
    scope: HaltScope
    org: str | None
    project: str | None
    state: HaltState
    title: str
    raised_by: str
    raised_at: datetime
    expires_at: datetime | None
    ended_at: datetime | None
    ended_by: str | None
    note: str | None
    seq: int = Field(description="Of its last broadcast.")


class HaltStatus(HaltAnswer):
    """One halt, who has stopped, and who has not."""

    acks: tuple[Acknowledged, ...]
    missing: tuple[str, ...] = Field(
        description="Agents in its scope that were heard of within `within_s` and have not acknowledged it."
    )
    listening: int = Field(description="Agents in its scope that were heard of within `within_s`.")
    within_s: int


class SignalRaised(Answer):
    """The result of a raise."""

    status: RaiseStatus
    signal: SignalAnswer | None = Field(description="As it stands now.")
    halt: HaltAnswer | None = Field(description="The halt that it opened, or widened.")


class SignalList(Answer):
    """Newest first."""

    signals: tuple[SignalAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class HaltList(Answer):
    """Newest first."""

    halts: tuple[HaltAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")
