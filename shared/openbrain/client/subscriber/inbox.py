"""Follows an agent's inbox: messages and subscription matches, each at least once and in order."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import NoReturn, Protocol

from openbrain.client import event_log
from openbrain.client.subscriber.cursors import Cursor
from openbrain.client.subscriber.handling import handle
from openbrain.contract.messages import Inbox as Page
from openbrain.contract.messages import MessageAnswer
from openbrain.domain.errors import OpenBrainError, SetupError
from openbrain.domain.tasks import Backoff

_log = event_log.get_logger(__name__)
_PAUSE_S, _PAUSE_MAX_S = 0.1, 5.0
MessageHandler = Callable[[MessageAnswer], Awaitable[None]]


class InboxApi(Protocol):
    """Every method raises `TryLater` while the API can't be reached."""

    async def inbox(self, after: int, *, unread: bool = False, limit: int | None = None) -> Page:
        """Return a page of the messages after a number, in order, and the highest number of the inbox."""

    def messages(self, after: int) -> AsyncGenerator[MessageAnswer | None, None]:
        """Yield messages after a number, then new ones; None is a heartbeat. Ends when the server stops."""


class Inbox:
    """Calls `handler` with one message at a time, in order of `seq`. Without a stored cursor it begins with new
    messages. After a restore of the database it begins with the first unread message that may be new."""

    def __init__(self, api: InboxApi, handler: MessageHandler, cursor: Cursor) -> None:
        self._api, self._handler, self._cursor = api, handler, cursor
        self.seq: int | None = None
        """Everything up to here was handled."""
        self._last: MessageAnswer | None = None
        """The last message handled since the start."""
        self._placing = asyncio.Lock()

    async def begin(self) -> None:
        """Find the number to continue after, so that what arrives from now on is received."""
        async with self._placing:
            if self.seq is None:
                await self._place()

    async def follow(self, attempts: int) -> NoReturn:
        """Follow the inbox, across broken connections. `attempts`: how often the handler is called if it raises."""
        backoff = Backoff(_PAUSE_S, _PAUSE_MAX_S)
        while True:
            try:
                async with self._placing:
                    after = await self._place()
                async with aclosing(self._api.messages(after)) as messages:
                    async for message in messages:
                        backoff.reset()
                        if message is not None:
                            await handle(self._handler, message, seq=message.seq, attempts=attempts)
                            self._last = message
                            await self._advance(message.seq)
            except OpenBrainError as error:
                _log.warning("subscriber.trouble", way="inbox", error=type(error).__name__)
            await asyncio.sleep(backoff.next())

    async def _place(self) -> int:
        """Return the number to continue after. After a restore of the database its numbers can be lower than the
        cursor, or belong to other messages."""
        known = await self._cursor.load() if self.seq is None else self.seq
        page = await self._api.inbox(max(0, (known or 0) - 1), limit=1)
        if known is None:
            known = page.last
        elif known > page.last or any(map(self._replaces, page.messages)):
            known = await self._before_new(page.last)
        if known != self.seq:
            await self._advance(known)
        return known

    def _replaces(self, message: MessageAnswer) -> bool:
        """Whether its number belonged to the last message handled."""
        return self._last is not None and message.seq == self._last.seq and message.id != self._last.id

    async def _before_new(self, last: int) -> int:
        """Return the number before the first unread message that is newer than the last one handled."""
        after: int | None = 0
        while after is not None:
            page = await self._api.inbox(after, unread=True)
            for message in page.messages:
                if self._last is None or message.created_at > self._last.created_at:
                    return message.seq - 1
            after = page.next_after
        return last

    async def _advance(self, seq: int) -> None:
        try:
            await self._cursor.save(seq)
        except SetupError as error:
            _log.error("subscriber.cursor_not_saved", seq=seq, reason=str(error))
        self.seq = seq
