"""Deliveries to a handler, and its results."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from openbrain.domain.events.data import EventData
from openbrain.domain.events.envelope import FIELD_BYTES, CloudEvent

Data = TypeVar("Data", bound=EventData)


class Entry(NamedTuple):
    """A pending stream entry, not yet parsed."""

    id: str
    fields: Sequence[bytes]
    """Names and values alternating, as in the stream."""
    failures: int = 0
    """Failed attempts so far; an unavailable dependency does not count."""
    abandonments: int = 0
    """Number of consumers that disappeared while the entry was pending for them."""

    @property
    def raw(self) -> bytes | None:
        """The value of `__data__`, or None when there is no such field."""
        fields = self.fields
        if len(fields) == 2:
            return fields[1] if fields[0] == FIELD_BYTES else None
        return dict(zip(fields[::2], fields[1::2], strict=True)).get(FIELD_BYTES)


class Delivery(NamedTuple, Generic[Data]):
    """A pending stream entry with its event."""

    id: str
    stream: str
    """Full name, with the settings' prefix."""
    workspace: str | None
    """The workspace that the stream is bound to, if any: then the workspace in the body is ignored."""
    event: CloudEvent[Data]
    entry: Entry

    @property
    def failures(self) -> int:
        """Failed attempts so far; an unavailable dependency does not count."""
        return self.entry.failures

    @property
    def abandonments(self) -> int:
        """Number of consumers that disappeared while the entry was pending for them."""
        return self.entry.abandonments

    @property
    def raw(self) -> bytes:
        """The event's bytes as in the stream."""
        return self.entry.raw or b""


Results = Sequence[Exception | None] | None
"""None: all done. A list: one result per delivery, None if it is done, else its error: `TryLater` (or `SetupError`)
keeps it pending until the dependency answers, `NeverRetry` makes it a dead letter, any other is a failed attempt."""

Handler = Callable[[Sequence[Delivery[Data]]], Awaitable[Results]]
"""Handles a batch. An error that it raises applies to the whole batch: `TryLater` and `SetupError` as above; after any
other each delivery is handled again alone, so that a bad delivery does not affect its neighbours."""

OnDead = Callable[[Delivery[Any], Exception], Awaitable[None]]
"""Called before a parsed delivery becomes a dead letter, so that the database can keep the reason."""


def per_delivery(
    deliveries: Sequence[Delivery[Any]], failures: Mapping[str, Exception]
) -> list[Exception | None] | None:
    """Return one result per delivery: the failure of its memory, if any."""
    if not failures:
        return None
    return [failures.get(delivery.event.data.memory_id) for delivery in deliveries]


def one_each(results: Results, expected: int) -> Sequence[Exception | None]:
    """Return one result per delivery, None if done. `TypeError` if the handler's result does not fit the batch."""
    if results is None:
        return [None] * expected
    if len(results) != expected:
        raise TypeError(f"the handler answered {len(results)} results for {expected} deliveries")
    return results
