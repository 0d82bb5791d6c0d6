"""Ends streams and long polls of revoked or expired keys: one query a second for all listeners."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from openbrain.domain.errors import OpenBrainError, Unauthorised, error_places
from openbrain.domain.tasks import cancel
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import ApiKeys
from openbrain_api.broadcasts.channel import Listener

EVERY_S = 1.0
_log = structlog.get_logger(__name__)


class ListeningKeys:
    """The keys of this process's listeners, and the task that checks which of them are still valid."""

    def __init__(self, api_keys: ApiKeys, clock: Clock) -> None:
        self._api_keys = api_keys
        self._clock = clock
        self._listeners: dict[Listener, str] = {}
        self._ended: set[Listener] = set()
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def listens(self, key_id: str, listener: Listener) -> Iterator[None]:
        """While the block runs, end the listener when its key is revoked or expires."""
        self._listeners[listener] = key_id
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            del self._listeners[listener]
            self._ended.discard(listener)

    def require(self, listener: Listener) -> None:
        """Raise `Unauthorised` if the key ended while the listener listened."""
        if listener in self._ended:
            raise Unauthorised("this key was revoked or has expired: send a valid one")

    async def close(self) -> None:
        """Stop checking."""
        await cancel(self._looking)

    async def _look(self) -> None:
        while self._listeners:
            await asyncio.sleep(EVERY_S)
            try:
                await self._end()
            except OpenBrainError:
                continue  # while the database does not answer, every key keeps its state
            except Exception as error:  # noqa: BLE001 - logged without its text; the next check may succeed
                _log.error("api.keys_unknown", error=type(error).__name__, where=error_places(error))

    async def _end(self) -> None:
        key_ids = set(self._listeners.values())
        good = await self._api_keys.open_keys(list(key_ids), self._clock.now())
        for listener, key_id in list(self._listeners.items()):
            if key_id in key_ids and key_id not in good:
                self._ended.add(listener)
                listener.end()
