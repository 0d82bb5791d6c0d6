"""Helpers that wait for a condition, never for a fixed time."""

import asyncio
import os
from collections.abc import Awaitable, Callable

PATIENCE_S = 120 * float(os.environ.get("OPENBRAIN_TEST_PATIENCE", "1"))
"""How long a test waits for a condition. Long, for loaded machines; it costs nothing if the condition holds at once.
OPENBRAIN_TEST_PATIENCE multiplies it."""


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = PATIENCE_S, pause: float = 0.01) -> None:
    """Poll until the condition holds; the TimeoutError names the condition."""
    try:
        async with asyncio.timeout(seconds):
            while not await condition():
                await asyncio.sleep(pause)
    except TimeoutError:
        raise TimeoutError(f"{condition.__qualname__} did not hold within {seconds} s") from None
