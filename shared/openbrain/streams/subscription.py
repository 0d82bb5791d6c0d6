"""What a room reads, declared."""

from dataclasses import dataclass
from typing import Any

from openbrain.streams.delivery import Handler, OnDead
from openbrain.streams.table import StreamSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """One stream read by a room's group."""

    spec: StreamSpec
    handler: Handler[Any]
    on_dead: OnDead | None = None
    without: Handler[Any] | None = None
    """Handles entries while a dependency is away, as far as they need none: `TryLater` for those that do. They wait in
    hand, at most `settings.streams.aside` of them, while others go on. None: nothing is read while one is away."""
    workspace: str | None = None
    """Read `<name>.<workspace>`, bound to this workspace, in place of the shared stream."""
    low_priority: bool = False
    """Read only while the room's other streams have nothing to read."""

    apart: bool = False
    """Has its turns and its breaker to itself: it may be slow, and what it needs be away, without the room's others."""

    @property
    def name(self) -> str:
        """The stream's name without the settings' prefix."""
        return f"{self.spec.name}.{self.workspace}" if self.workspace else self.spec.name
