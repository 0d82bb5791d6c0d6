"""Erasure after a workspace's days of retention. A legal hold exempts."""

from typing import NamedTuple, Protocol

from openbrain.domain.memory import Reason
from openbrain.ports.store.writes import Origin

ENDED = {
    Reason.FORGOTTEN: "forgotten_days",
    Reason.SUPERSEDED: "superseded_days",
    Reason.EXPIRED: "expired_days",
    Reason.ARCHIVED: "archived_days",
}
"""Memories that ended so, by the name of their days in a retention."""
HISTORY, RECALLS, OPERATIONS = "history_days", "recall_days", "operation_days"


class Walked(NamedTuple):
    """A part of the audit that was looked through."""

    last: int
    """The number of the last line that is old enough."""
    blanked: int
    more: bool


class Retention(Protocol):
    """Of one workspace each."""

    async def erase_ended(self, workspace_id: str, reason: Reason, before: int, limit: int, origin: Origin) -> int:
        """Erase memories that ended so before that time (microseconds): a row stays that proves it. How many."""

    async def blank_history(self, workspace_id: str, before: int, after: int, limit: int) -> Walked:
        """Take what memories said out of lines of the audit that were written before that time, of the `limit` lines
        behind the number `after`: who did what when, and when, stays."""
