"""Follows an agent's inbox: messages and subscription matches, each at least once and in order."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import NoReturn, Protocol

from openbrain.client import event_log
from openbrain.client.subscriber.cursors import Cursor
from openbrain.client.subscriber.handling import handle
from openbrain.contract.messages import MessageAnswer
from openbrain.domain.errors import OpenBrainError, SetupError
from openbrain.domain.tasks import Backoff

_log = event_log.get_logger(__name__)
_PAUSE_S, _PAUSE_MAX_S = 0.1, 5.0
MessageHandler = Callable[[MessageAnswer], Awaitable[None]]


class InboxApi(Protocol):
    """Every method raises `TryLater` while the API can't be reached."""

    async def last_message(self) -> int:
        """Return the highest number of the inbox."""

    def messages(self, after: int) -> AsyncGenerator[MessageAnswer | None, None]:
        """Yield messages after a number, then new ones; None is a heartbeat. Ends when the server stops."""


class Inbox:
    """Calls `handler` with one message at a time, in order of `seq`. Without a stored cursor it begins with new
    messages."""

    def __init__(self, api: InboxApi, handler: MessageHandler, cursor: Cursor) -> None:
        self._api, self._handler, self._cursor = api, handler, cursor
        self.seq: int | None = None
        """Everything up to here was handled."""

    async def follow(self, attempts: int) -> NoReturn:
        """Follow the inbox, across broken connections. `attempts`: how often the handler is called if it raises."""
        backoff = Backoff(_PAUSE_S, _PAUSE_MAX_S)
        while True:
            try:
                async with aclosing(self._api.messages(await self._place())) as messages:
                    async for message in messages:
                        backoff.reset()
                        if message is not None:
                            await handle(self._handler, message, seq=message.seq, attempts=attempts)
                            await self._advance(message.seq)
            except OpenBrainError as error:
                _log.warning("subscriber.trouble", way="inbox", error=type(error).__name__)
            await asyncio.sleep(backoff.next())

    async def _place(self) -> int:
        """Return the number to continue after. After a restore of the database its numbers can be lower than the
        cursor."""
        if self.seq is None:
            self.seq = await self._cursor.load()
        last = await self._api.last_message()
        if self.seq is None or self.seq > last:
            await self._advance(last)
        return last if self.seq is None else self.seq

    async def _advance(self, seq: int) -> None:
        try:
            await self._cursor.save(seq)
        except SetupError as error:
            _log.error("subscriber.cursor_not_saved", seq=seq, reason=str(error))
        self.seq = seq
