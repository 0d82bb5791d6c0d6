"""Broadcasts that one agent has received, from any source."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from openbrain.client import event_log
from openbrain.client.subscriber.api import Missed, Present
from openbrain.client.subscriber.halts import Halts
from openbrain.client.subscriber.progress import Progress
from openbrain.domain.events.data import Broadcast

_log = event_log.get_logger(__name__)
WAITING = 10_000
"""Queued signals before reading waits for the handler."""
Item = tuple[Broadcast | None, int | None]
"""A signal to handle, and the number up to which everything is handled once it is; None if unknown."""


class ReceivedSignals:
    """Filled by the readers, emptied by the handler. Halts apply at once, signals in the order in which they arrive."""

    def __init__(self, org: str, project: str, *, cut_off_s: float | None, clock: Callable[[], float]) -> None:
        self.halts = Halts(org, project)
        self.progress = Progress(0)
        self.placed = asyncio.Event()
        """Set when the starting position is known."""
        self.queue: asyncio.Queue[Item] = asyncio.Queue(WAITING)
        self._queueing = asyncio.Lock()
        """Held from noting a number until its signal is queued: while the queue is full, a later reader could pass."""
        self.position = 0
        """Position of the stream's reader: nothing after it was read yet."""
        self.handled: int | None = None
        """Everything up to here was received and handled."""
        self._lacking: dict[int, Broadcast] = {}
        """Signals of the present state whose newest broadcast was not received and may no longer be stored."""
        self._moved = asyncio.Event()
        self._cut_off_s = cut_off_s
        self._clock = clock
        self._contact_at = clock()

    def place(self, seq: int) -> None:
        """Set the starting position: everything up to `seq` is known."""
        self.progress, self.position = Progress(seq), seq
        self.placed.set()

    @property
    def cut_off(self) -> bool:
        """Whether no server has answered for longer than allowed."""
        return self._cut_off_s is not None and self._clock() - self._contact_at > self._cut_off_s

    @property
    def halted(self) -> bool:
        return bool(self.halts.standing) or self.cut_off

    def contact(self) -> None:
        """Note that a server answered."""
        was_cut_off = self.cut_off
        self._contact_at = self._clock()
        if was_cut_off:
            _log.info("subscriber.connected_again")
            self._notify()

    def moved(self) -> Coroutine[Any, Any, object]:
        """Return an awaitable that waits for a possible change of `halted` since this call, not since the await."""
        return self._moved.wait()

    def halts_of(self, broadcast: Broadcast) -> None:
        """Apply the broadcast's halt, before anything else."""
        if broadcast.halt_id is not None:
            self.halts.apply(broadcast)
            self._notify()

    async def take(self, broadcast: Broadcast) -> None:
        """Take in one broadcast; repetition is harmless."""
        self.contact()
        self.halts_of(broadcast)
        async with self._queueing:
            if self.progress.note(broadcast.seq):
                self._lacking.pop(broadcast.seq, None)
                await self.queue.put((broadcast, self.progress.done))

    async def complete(self, through: int) -> None:
        """Note that the database has no other broadcasts up to `through`."""
        async with self._queueing:
            if through > self.progress.done:
                self.progress.complete(through)
                await self._queue_lacking(through)

    async def missed(self, page: Missed) -> None:
        """Take in a page of broadcasts from the database."""
        for broadcast in page.broadcasts:
            await self.take(broadcast)
        await self.complete(page.through)

    async def present(self, state: Present, known: int | None) -> None:
        """Take in the present state. `known`: the number received when it was requested; None: nothing yet."""
        self.contact()
        rewound = known is not None and state.seq < known
        self.halts.present(state.seq, state.halts, rewound=rewound)
        self._notify()
        begins = 0 if rewound or known is None else self.progress.done
        self._lacking = {signal.seq: signal for signal in state.signals if signal.seq > begins}
        if rewound:
            _log.warning("subscriber.truth_put_back", known=known, seq=state.seq)
        if rewound or known is None:
            async with self._queueing:
                self.place(state.seq)
                await self._queue_lacking(state.seq)

    async def _queue_lacking(self, through: int) -> None:
        """Pass on the signals that only the state has, then count all up to `through` as received."""
        for seq in sorted(seq for seq in self._lacking if seq <= through):
            await self.queue.put((self._lacking.pop(seq), None))
        await self.queue.put((None, self.progress.done))

    def _notify(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
