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
Title = Annotated[Keyword, Field(description="One line: what is wrong.")]
Text = Annotated[str, StringConstraints(max_length=limits.CONTENT_CHARS), AfterValidator(plain_text)]
Ttl = Annotated[int, Field(strict=True, ge=1, le=TTL_S, description="Seconds until it expires by itself.")]
Cursor = Annotated[str, Field(pattern=CURSOR, description="The `next_cursor` of the previous page.")]
Within = Annotated[int, Field(ge=1, le=WITHIN_S, description="Seconds; by default the server's setting.")]


class SignalBody(Body, extra="allow"):
    """A signal to raise: something is wrong. Unknown members are refused if it halts (a misspelt `halt_scope` would
    stop everyone), otherwise ignored."""

    source: Annotated[Source, Field(description="What reports it: a service, a host, a check.")]
    severity: Severity
    title: Title
    content: Annotated[Text, Field(description="What is known, and what to do.")] = ""
    dedup_key: Annotated[
        Keyword | None,
        Field(description="Raises of one source with the same key are one signal. By default its text is the key."),
    ] = None
    ttl_s: Ttl | None = None
    halt: Annotated[
        bool,
        Field(strict=True, description="Whether every agent in `halt_scope` must stop; a nuclear signal always halts."),
    ] = False
    halt_scope: Annotated[
        HaltScope | None, Field(description="The agents that the halt stops; null: the whole workspace.")
    ] = None
    org: Org | None = None
    project: Project | None = None


class HaltBody(Body, extra="forbid"):
    """A halt to raise: every agent in its scope must stop. Unknown members are refused: a misspelt `scope` would stop
    everyone."""

    title: Title
    content: Annotated[Text, Field(description="Why, and what must be done before work may continue.")] = ""
    scope: Annotated[HaltScope | None, Field(description="The agents that it stops; null: the whole workspace.")] = None
    org: Annotated[Org | None, Field(description="Required for a halt of an org or a project.")] = None
    project: Annotated[Project | None, Field(description="Required for a halt of a project.")] = None
    ttl_s: Ttl | None = None
    source: Annotated[Source | None, Field(description="null: the caller.")] = None
    dedup_key: Annotated[Keyword | None, Field(description="Raises of one source with the same key are one halt.")] = (
        None
    )


class NoteBody(Body):
    """The reason."""

    note: Note | None = None


class AckBody(NoteBody):
    """The acknowledgement of a signal."""

    seq: Annotated[
        int | None,
        Field(
            strict=True,
            ge=1,
            le=MOST,
            description="The broadcast that is acknowledged; a later raise of a higher severity is not.",
        ),
    ] = None


class SignalsQuery(QueryString):
    """The filters of a list of signals."""

    many = frozenset({"state"})

    state: Annotated[tuple[SignalState, ...], Field(max_length=len(SignalState))] = ()
    min_severity: Annotated[Severity | None, Field(description="This severity or a higher one.")] = None
    source: Source | None = None
    org: Org | None = None
    project: Project | None = None
    since: Annotated[Moment | None, Field(description="First raised at or after this time.")] = None
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
    """Query of one halt: selects the agents that count as listening."""

    within_s: Within | None = None


class SignalAnswer(Answer):
    """One signal."""

    id: str
    source: str
    title: str
    content: str
    severity: Severity = Field(description="The highest severity that it was raised with.")
    broadcast_severity: Severity = Field(
        description="The severity that is broadcast; it falls when the signal is not raised again."
    )
    state: SignalState
    org: str | None
    project: str | None
    dedup_key: str | None
    count: int = Field(description="Number of raises so far.")
    storm: bool = Field(description="Whether it replaces many signals that one source raised too fast.")
    first_raised_at: datetime
    last_raised_at: datetime
    expires_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    ended_at: datetime | None
    ended_by: str | None
    note: str | None = Field(description="Why it was resolved.")
    seq: int = Field(description="Number of its last broadcast.")


class Acknowledged(Answer):
    """An agent that has acknowledged a signal or stopped for a halt, and when it first did."""

    agent_id: str
    at: datetime


class SignalLine(Answer):
    """One entry of the audit of a signal and its halt."""

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
    """One signal, the agents that acknowledged it, and its audit."""

    acks: tuple[Acknowledged, ...]
    history: tuple[SignalLine, ...]


class HaltAnswer(Answer):
    """One halt: every agent in its scope must stop until it ends."""

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
    seq: int = Field(description="Number of its last broadcast.")


class HaltStatus(HaltAnswer):
    """One halt, the agents that have stopped, and those that have not."""

    acks: tuple[Acknowledged, ...]
    missing: tuple[str, ...] = Field(
        description="Agents in its scope that were seen within `within_s` and have not acknowledged it."
    )
    listening: int = Field(description="Number of agents in its scope that were seen within `within_s`.")
    within_s: int


class SignalRaised(Answer):
    """The result of a raise."""

    status: RaiseStatus
    signal: SignalAnswer | None = Field(description="The signal after the raise.")
    halt: HaltAnswer | None = Field(description="The halt of that signal, if any; `state` says whether it is in force.")


class SignalList(Answer):
    """A page of signals, newest first."""

    signals: tuple[SignalAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class HaltList(Answer):
    """A page of halts, newest first."""

    halts: tuple[HaltAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")
