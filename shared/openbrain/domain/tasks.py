"""The end of background tasks."""

import asyncio
from typing import Any

_REPEATED_S = 1.0
_TIMES = 5


async def cancel(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait for their end, whatever their outcome; at most 5 s, for code that refuses to end.

    Python 3.11 can lose a cancellation that meets the end of an inner wait: it is repeated every second.
    """
    pending = {task for task in tasks if task is not None}
    for _ in range(_TIMES):
        for task in pending:
            task.cancel()
        if pending:
            ended, pending = await asyncio.wait(pending, timeout=_REPEATED_S)
            await asyncio.gather(*ended, return_exceptions=True)
