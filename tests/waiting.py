"""Waiting for a condition, never for a time."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30, pause: float = 0.01) -> None:
    """Ask again until it holds; a TimeoutError names the condition."""
    try:
        async with asyncio.timeout(seconds):
            while not await condition():
                await asyncio.sleep(pause)
    except TimeoutError:
        raise TimeoutError(f"{condition.__qualname__} did not hold within {seconds} s") from None
