"""Declared subscriptions of a service."""

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
    """Handles entries while a dependency is away, as far as they need none: `TryLater` for those that do. They wait in
    hand, at most `settings.streams.aside` of them, while others go on. None: nothing is read while one is away."""
    workspace: str | None = None
    """Read `<name>.<workspace>`, bound to this workspace, in place of the shared stream."""
    low_priority: bool = False
    """Read only while the service's other streams have nothing to read."""

    apart: bool = False
    """Has a lock and a breaker of its own: where it is slow or its dependency is away, the others go on."""

    def full_name(self, prefix: str) -> str:
        """The stream's name on the server."""
        return self.spec.name if self.spec.foreign else prefix + self.name

    def raw(self, entry: Entry) -> bytes | None:
        """The event in an entry; None where there is none."""
        return as_event(self.spec, entry) if self.spec.foreign else entry.raw

    @property
    def name(self) -> str:
        """The stream's name without the settings' prefix."""
        return f"{self.spec.name}.{self.workspace}" if self.workspace else self.spec.name


def as_event(spec: StreamSpec, entry: Entry) -> bytes:
    """An entry of another system's stream as an event of its type."""
    texts = [field.decode(errors="replace") for field in entry.fields]
    fields = dict(zip(texts[::2], texts[1::2], strict=True))
    event = {"id": entry.id, "source": spec.name, "type": spec.type, "data": {"fields": fields}}
    return orjson.dumps(event)
