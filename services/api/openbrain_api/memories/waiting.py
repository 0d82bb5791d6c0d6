"""`Prefer: wait`: an answer that waits for the indexes."""

import asyncio
from collections.abc import Mapping, Sequence

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import Memory, State
from openbrain.ports.clock import Clock
from openbrain.ports.store.memories import Memories

_FIRST_LOOK_S = 0.01
_LONGEST_PAUSE_S = 0.1


async def settled(ids: Sequence[str], seconds: float, *, memories: Memories, clock: Clock) -> Mapping[str, Memory]:
    """The rows once both indexes hold them (or hold nothing of the ended ones) or can't, or after `seconds`;
    none while the truth does not answer."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    pause = _FIRST_LOOK_S
    while True:
        try:
            rows = await memories.rows(ids)
        except TryLater:
            return {}  # the write stands; only how far it has come can't be told now
        now = clock.now()
        left = deadline - loop.time()
        if left <= 0 or all(row.indexed or row.state(now) is State.FAILED for row in rows.values()):
            return rows
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
