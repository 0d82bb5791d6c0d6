"""Inboxes with listeners: one query for all of them finds those with new messages."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from openbrain.domain.errors import OpenBrainError, error_places
from openbrain.domain.tasks import cancel
from openbrain.ports.agents import Messages
from openbrain_api.broadcasts.channel import Listener

LOOK_S = 0.25
_log = structlog.get_logger(__name__)

Box = tuple[str, str]
"""Workspace and agent."""


class Inboxes:
    """Polls the database while there are listeners."""

    def __init__(self, messages: Messages, look_s: float = LOOK_S) -> None:
        self._messages, self._look_s = messages, look_s
        self._listeners: defaultdict[Box, set[Listener]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def listens(self, box: Box, listener: Listener) -> Iterator[None]:
        """While the block runs, wake the listener when the last number of the inbox changes."""
        self._listeners[box].add(listener)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="inboxes")
        try:
            yield
        finally:
            self._listeners[box].discard(listener)
            if not self._listeners[box]:
                del self._listeners[box]

    async def _look(self) -> None:
        known: dict[Box, int] = {}
        while self._listeners:
            try:
                last = await self._messages.last_numbers(list(self._listeners))
            except OpenBrainError:
                last = known  # the readers find out that the database is down
            except Exception as error:  # noqa: BLE001 - a failed poll must not end the loop
                _log.error("api.inboxes_failed", error=type(error).__name__, where=error_places(error))
                last = known
            for box, before in known.items():
                if last.get(box, 0) < before:  # the database was restored to an earlier state: they start again
                    for listener in self._listeners.get(box, ()):
                        listener.end()
            for box, seq in last.items():
                if seq != known.get(box):
                    for listener in self._listeners.get(box, ()):
                        listener.notify()
            known = dict(last)
            await asyncio.sleep(self._look_s)

    async def close(self) -> None:
        """Stop polling."""
        await cancel(self._looking)
