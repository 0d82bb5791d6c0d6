"""Erasure after a workspace's retention period. Legal holds are exempt."""

from typing import NamedTuple, Protocol

from openbrain.domain.memory import Reason
from openbrain.ports.store.writes import Origin

ENDED = {
    Reason.FORGOTTEN: "forgotten_days",
    Reason.SUPERSEDED: "superseded_days",
    Reason.EXPIRED: "expired_days",
    Reason.ARCHIVED: "archived_days",
}
"""The name of the retention setting for memories that ended for each reason."""
HISTORY, RECALLS, OPERATIONS = "history_days", "recall_days", "operation_days"


class Walked(NamedTuple):
    """The result of one pass over a part of the audit."""

    last: int
    """The number of the last line that was old enough."""
    blanked: int
    more: bool


class Retention(Protocol):
    """Retention of one workspace at a time."""

    async def erase_ended(self, workspace_id: str, reason: Reason, before: int, limit: int, origin: Origin) -> int:
        """Erase memories that ended for `reason` before `before` (microseconds). A blanked row remains as proof. Return
        how many."""

    async def blank_history(self, workspace_id: str, before: int, after: int, limit: int) -> Walked:
        """Remove memory contents from audit lines written before `before`, among the `limit` lines behind number
        `after`. Who did what and when is kept."""

    async def drop_earlier_texts(self, workspace_id: str, before: int, limit: int) -> int:
        """Remove what undoes the changes made before `before`, if it holds texts as they were. Return how many."""
