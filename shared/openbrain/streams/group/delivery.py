"""Deliveries to a handler, and its results."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from openbrain.domain.events.data import EventData
from openbrain.domain.events.envelope import FIELD, CloudEvent

_FIELD = FIELD.encode()
Data = TypeVar("Data", bound=EventData)


class Entry(NamedTuple):
    """A stream entry in hand, not yet parsed."""

    id: str
    fields: Sequence[bytes]
    """Names and values in turn, as they stand in the stream."""
    failures: int = 0
    """Failed attempts so far; a dependency that was down is none."""
    abandonments: int = 0
    """Number of consumers that vanished while they held the entry."""

    @property
    def raw(self) -> bytes | None:
        """The value of `__data__`, or None when there is no such field."""
        fields = self.fields
        if len(fields) == 2:
            return fields[1] if fields[0] == _FIELD else None
        return dict(zip(fields[::2], fields[1::2], strict=True)).get(_FIELD)


class Delivery(NamedTuple, Generic[Data]):
    """A stream entry in hand with its event."""

    id: str
    stream: str
    """Full name, with the settings' prefix."""
    workspace: str | None
    """The workspace that the stream is bound to: with it, what the body says about the workspace is not read."""
    event: CloudEvent[Data]
    entry: Entry

    @property
    def failures(self) -> int:
        """Failed attempts so far; a dependency that was down is none."""
        return self.entry.failures

    @property
    def abandonments(self) -> int:
        """Number of consumers that vanished while they held the entry."""
        return self.entry.abandonments

    @property
    def raw(self) -> bytes:
        """The event's bytes as they stand in the stream."""
        return self.entry.raw or b""


Results = Sequence[Exception | None] | None
"""None: all done. A list: one result per delivery, None where it is done, else the error of that one alone:
`TryLater` keeps it in hand until the dependency answers, `NeverRetry` sends it to the dead letters, any other is a
failed attempt."""

Handler = Callable[[Sequence[Delivery[Data]]], Awaitable[Results]]
"""Handles a batch. An error it raises is meant for the whole batch: `TryLater` as above; any other makes each delivery
be handled again alone, so that one bad delivery never harms its neighbours."""

OnDead = Callable[[Delivery[Any], Exception], Awaitable[None]]
"""Called before a parsed delivery becomes a dead letter, so that the database can keep the reason."""


def per_delivery(
    deliveries: Sequence[Delivery[Any]], failures: Mapping[str, Exception]
) -> list[Exception | None] | None:
    """Each delivery gets the failure of its memory."""
    if not failures:
        return None
    return [failures.get(delivery.event.data.memory_id) for delivery in deliveries]


def one_each(results: Results, expected: int) -> Sequence[Exception | None]:
    """None for all that is done. Raises `TypeError` for an answer that fits no batch of so many deliveries."""
    if results is None:
        return [None] * expected
    if len(results) != expected:
        raise TypeError(f"the handler answered {len(results)} results for {expected} deliveries")
    return results
