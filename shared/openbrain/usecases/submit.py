"""Turns stream submissions into offers; the actor comes from the event or its stream."""

import time
from functools import lru_cache

from openbrain.domain.access.permissions import Permission
from openbrain.domain.caches import Fresh
from openbrain.domain.errors import Invalid, NeverRetry
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.ids import joined_hash
from openbrain.domain.memory import DAY
from openbrain.ports.store.tenants import Workspaces
from openbrain.ports.store.writes import Origin
from openbrain.usecases.auth import Actor
from openbrain.usecases.remember import Offer

KEY_LIFETIME = 30 * DAY


def from_event(
    event: CloudEvent[MemorySubmitted], *, bound_workspace: str = "", key_lifetime: int = KEY_LIFETIME
) -> Offer:
    """Return the offer of an event. On a stream bound to a workspace, the event's own workspace is ignored.

    Without an idempotency key, the event's source and id are the key, so the same event counts once.
    """
    data = event.data
    workspace_id = bound_workspace or data.workspace_id or ""
    if not workspace_id:
        raise Invalid("data.workspace_id", "is required on this stream")
    key = (
        joined_hash("key", data.idempotency_key)
        if data.idempotency_key
        else joined_hash("event", event.source, event.id)
    )
    actor = _actor(event.source, workspace_id, data.agent_id or "")
    return Offer(
        submission=data,
        actor=actor,
        origin=Origin(actor=actor.label, causation_id=event.id, traceparent=event.traceparent),
        idempotency_key=key,
        key_lifetime=key_lifetime,
    )


# A producer sends many events.
@lru_cache(maxsize=256)
def _actor(source: str, workspace_id: str, agent_id: str) -> Actor:
    return Actor(
        key_id="stream",
        name=source,
        workspace_id=workspace_id,
        agent_id=agent_id,
        permissions=frozenset({Permission.BRAIN_WRITE}),
    )


class Tenants:
    """The existing workspaces, cached for a second: a deleted one accepts no submissions."""

    def __init__(self, workspaces: Workspaces, *, fresh_s: float = 1.0) -> None:
        self._workspaces = workspaces
        self._known = Fresh[frozenset[str]](time.monotonic, fresh_s)

    async def require(self, workspace_id: str) -> None:
        """Raise `NeverRetry` if the workspace does not exist."""
        known, now = self._known.get(), time.monotonic()
        if known is None or workspace_id not in known:
            known = self._known.set(frozenset(workspace.id for workspace in await self._workspaces.workspaces()), now)
        if workspace_id not in known:
            raise NeverRetry("data.workspace_id is not an existing workspace: create it first, then replay this entry")
