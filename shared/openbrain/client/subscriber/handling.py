"""Calls the agent's handler for one item, with a limited number of retries."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from openbrain.client import event_log
from openbrain.domain.tasks import Backoff

_log = event_log.get_logger(__name__)
Item = TypeVar("Item")


async def handle(handler: Callable[[Item], Awaitable[None]], item: Item, *, seq: int, attempts: int) -> None:
    """Return when the item was handled, or after `attempts` failures, which is logged."""
    backoff = Backoff(0.5, 30)
    for attempt in range(1, attempts + 1):
        try:
            await handler(item)
        except Exception as error:  # noqa: BLE001 - the handler may raise anything; later signals must still be handled
            if attempt == attempts:
                _log.error("subscriber.signal_given_up", seq=seq, error=type(error).__name__)
            else:
                _log.warning("subscriber.handler_failed", seq=seq, error=type(error).__name__)
                await asyncio.sleep(backoff.next())
        else:
            return
