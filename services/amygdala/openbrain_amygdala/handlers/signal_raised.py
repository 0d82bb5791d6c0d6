"""Turn raised events into signals; repeated deliveries of an event have no further effect."""

from collections.abc import Sequence
from typing import Protocol

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.events.envelope import CloudEvent, Data
from openbrain.domain.ids import joined_hash
from openbrain.domain.signals.rules import checked
from openbrain.domain.signals.values import Raise
from openbrain.observability import metrics
from openbrain.ports.content import ContentPolicy
from openbrain.ports.store.signals import RaiseOutcome, Signals
from openbrain.usecases.content.admission import admitted_raise


class Entry(Protocol[Data]):
    """An entry of a stream."""

    @property
    def id(self) -> str: ...

    @property
    def event(self) -> CloudEvent[Data]: ...


class BoundEntry(Entry[Data], Protocol[Data]):
    """An entry with the workspace that its stream is bound to, if any."""

    @property
    def workspace(self) -> str | None: ...


async def raise_all(
    raised: Sequence[BoundEntry[SignalRaised]], *, signals: Signals, now: int, content_policy: ContentPolicy
) -> list[Exception | None]:
    """Raise a batch in one transaction, at `now` (microseconds). A result for each: None, or why it was refused."""
    await content_policy.ready()
    results: list[Exception | None] = []
    raises: list[Raise] = []
    for item in raised:
        try:
            raises.append(admitted_raise(_raise(item, now), content_policy))
        except OpenBrainError as error:
            results.append(error)
        else:
            results.append(None)
    outcomes = iter(await raise_counted(raises, signals=signals))
    return [next(outcomes).error if result is None else result for result in results]


async def raise_counted(raises: Sequence[Raise], *, signals: Signals) -> Sequence[RaiseOutcome]:
    outcomes = await signals.raise_signals(raises) if raises else ()
    for given, outcome in zip(raises, outcomes, strict=True):
        metrics.SIGNALS_RAISED.labels(given.severity.value, outcome.status.value).inc()
    return outcomes


def happened(entry_id: str, now: int) -> int:
    """When an entry was added, in microseconds, by the stream server's clock; `now` if that clock is ahead of ours."""
    return min(now, int(entry_id.partition("-")[0]) * 1000)


def _raise(raised: BoundEntry[SignalRaised], now: int) -> Raise:
    event = raised.event
    return checked(
        event.data,
        actor=event.source,
        at=happened(raised.id, now),
        key=joined_hash("event", event.source, event.id),
        workspace_id=raised.workspace or "",
        traceparent=event.traceparent,
    )
