"""Job `retention`: remove data after the number of days that each workspace has set."""

from openbrain.domain.memory import DAY
from openbrain.ports.lifecycle import PolicyDocument
from openbrain.ports.retention import ENDED, HISTORY, OPERATIONS, RECALLS
from openbrain.ports.store.store import Store
from openbrain.ports.store.writes import Origin

PAGE = 200
"""Documents per page."""
CHUNK = 200
"""Memories erased per transaction."""
LINES = 2000
"""Audit lines examined per transaction."""
ACTOR = Origin(actor="retention")


class RetentionJob:
    """Does a bounded piece for each workspace per round. Later rounds do the rest."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store, self._limit = store, limit
        self._walked: dict[str, tuple[int, int, int]] = {}
        """By workspace: the document's update time, when the walk began, and the last audit line examined since."""

    async def round(self) -> int:
        """Return the largest number removed of any kind; the limit means there is more. By the database's clock."""
        now, most, after = await self._store.time(), 0, ""
        while documents := await self._store.policies.documents(PAGE, after):
            for document in documents:
                if document.retention:
                    most = max(most, await self._of(document, now))
            after = documents[-1].workspace_id
        return most

    async def _of(self, document: PolicyDocument, now: int) -> int:
        workspace, done = document.workspace_id, [0]
        before = {name: now - days * DAY for name, days in document.retention.items()}
        for reason, name in ENDED.items():
            if name in before:
                erased = await self._store.retention.erase_ended(workspace, reason, before[name], CHUNK, ACTOR)
                done.append(self._limit if erased == CHUNK else erased)
        if RECALLS in before:
            done.append(await self._store.memories.purge_recalls(before[RECALLS], self._limit, workspace))
        if OPERATIONS in before:
            done.append(await self._store.operations.purge_operations(before[OPERATIONS], self._limit, workspace))
        if HISTORY in before:
            done.append(await self._blank(document, before[HISTORY], now))
            done.append(await self._store.retention.drop_earlier_texts(workspace, before[HISTORY], self._limit))
        return max(done)

    async def _blank(self, document: PolicyDocument, before: int, now: int) -> int:
        since, began, after = self._walked.get(document.workspace_id, (0, 0, 0))
        # Start again: the days or the holds have changed; or memories that were held may have changed by now.
        if since != document.updated_at or (document.holds and now - began >= DAY):
            began, after = now, 0
        walked = await self._store.retention.blank_history(document.workspace_id, before, after, LINES)
        self._walked[document.workspace_id] = document.updated_at, began, walked.last
        return self._limit if walked.more else walked.blanked
