"""Broadcasts as their publisher needs them of the truth.

`seq` is dense within a workspace and rises under a lock of it, so that the order of numbers is the order of commits.
"""

from collections.abc import Sequence
from typing import Protocol

from openbrain.domain.errors import NeverRetry
from openbrain.domain.signals.values import BroadcastRow


class Passed(NeverRetry):
    """A stream takes rising numbers only, and has reached this one: it holds the event, or it knows a later time of
    the truth than the truth does."""


class Broadcasts(Protocol):
    """Each as in `ports.signals.Signals`."""

    async def last_seqs(self, after: str, limit: int) -> Sequence[tuple[str, int]]:
        """(workspace, seq of its newest broadcast) of those that have any, in order of their ids, behind `after`."""

    async def last_seq(self, workspace_id: str) -> int: ...

    async def broadcasts_after(self, workspace_id: str, seq: int, limit: int) -> Sequence[BroadcastRow]: ...

    async def broadcast_floor(self, workspace_id: str, before: int) -> int: ...

    async def renumber(self, workspace_id: str, since: int, above: int) -> int: ...
