"""Declarations of the streams that a service reads."""

from dataclasses import dataclass
from typing import Any

import orjson

from openbrain.domain.events.streams import StreamSpec
from openbrain.streams.group.delivery import Entry, Handler, OnDead


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """One stream read by a service's group."""

    spec: StreamSpec
    handler: Handler[Any]
    on_dead: OnDead | None = None
    degraded_handler: Handler[Any] | None = None
    """Handles entries while a dependency is unavailable; returns `TryLater` for those that need it. These are deferred,
    at most `settings.streams.tuning.aside` of them, while others are handled. None: nothing is read while a dependency
    is unavailable."""
    workspace: str | None = None
    """Read `<name>.<workspace>`, bound to this workspace, instead of the shared stream."""
    low_priority: bool = False
    """Read only while the service's other streams have nothing to read."""

    isolated: bool = False
    """Has a separate lock and breaker: the other streams continue if it is slow or its dependency is unavailable."""

    def full_name(self, prefix: str) -> str:
        """Return the stream's name on the server."""
        return self.spec.name if self.spec.foreign else prefix + self.name

    def raw(self, entry: Entry) -> bytes | None:
        """Return the event's bytes in an entry; None if there are none."""
        return as_event(self.spec, entry) if self.spec.foreign else entry.raw

    @property
    def name(self) -> str:
        """The stream's name without the prefix of the settings."""
        return f"{self.spec.name}.{self.workspace}" if self.workspace else self.spec.name


def as_event(spec: StreamSpec, entry: Entry) -> bytes:
    """Return an entry of another system's stream as an event."""
    texts = [field.decode(errors="replace") for field in entry.fields]
    fields = dict(zip(texts[::2], texts[1::2], strict=True))
    event = {"id": entry.id, "source": spec.name, "type": spec.type, "data": {"fields": fields}}
    return orjson.dumps(event)
