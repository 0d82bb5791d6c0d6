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
"""Signals in hand before reading waits for the handler."""
Item = tuple[Broadcast | None, int | None]
"""A signal to handle, and up to which number everything is handled once it is; None where that is not known."""


class ReceivedSignals:
    """Filled by the readers, emptied by the handler. Halts count at once, signals in the order in which they came."""

    def __init__(self, org: str, project: str, *, cut_off_s: float | None, clock: Callable[[], float]) -> None:
        self.halts = Halts(org, project)
        self.progress = Progress(0)
        self.placed = asyncio.Event()
        """Whether it is known where to begin."""
        self.queue: asyncio.Queue[Item] = asyncio.Queue(WAITING)
        self.position = 0
        """Of the reader of the stream: behind it nothing was read yet."""
        self.handled: int | None = None
        """Everything up to here was heard, and handled."""
        self._lacking: dict[int, Broadcast] = {}
        """Signals of the present state whose newest broadcast was not heard, and may be kept no longer."""
        self._moved = asyncio.Event()
        self._cut_off_s = cut_off_s
        self._clock = clock
        self._heard_at = clock()

    def place(self, seq: int) -> None:
        """Everything up to here is known."""
        self.progress, self.position = Progress(seq), seq
        self.placed.set()

    @property
    def cut_off(self) -> bool:
        """Whether nothing was heard for longer than allowed."""
        return self._cut_off_s is not None and self._clock() - self._heard_at > self._cut_off_s

    @property
    def halted(self) -> bool:
        return bool(self.halts.standing) or self.cut_off

    def contact(self) -> None:
        """A server answered."""
        was_cut_off = self.cut_off
        self._heard_at = self._clock()
        if was_cut_off:
            _log.info("subscriber.connected_again")
            self._tell()

    def moved(self) -> Coroutine[Any, Any, object]:
        """Wait until what `halted` says may have changed since this was called: not only since it was awaited."""
        return self._moved.wait()

    def halts_of(self, broadcast: Broadcast) -> None:
        """Take in the broadcast's halt, before anything else."""
        if broadcast.halt_id is not None:
            self.halts.apply(broadcast)
            self._tell()

    async def take(self, broadcast: Broadcast) -> None:
        """One broadcast; again does no harm."""
        self.contact()
        self.halts_of(broadcast)
        if self.progress.note(broadcast.seq):
            self._lacking.pop(broadcast.seq, None)
            await self.queue.put((broadcast, self.progress.done))

    async def complete(self, through: int) -> None:
        """The truth has nothing else up to here."""
        if through > self.progress.done:
            self.progress.complete(through)
            await self._tell_lacking(through)

    async def missed(self, page: Missed) -> None:
        """A page of the truth's."""
        for broadcast in page.broadcasts:
            await self.take(broadcast)
        await self.complete(page.through)

    async def present(self, state: Present, known: int | None) -> None:
        """Take in the present state. `known`: the number heard when it was asked for; None: nothing yet."""
        self.contact()
        rewound = known is not None and state.seq < known
        self.halts.present(state.seq, state.halts, rewound=rewound)
        self._tell()
        begins = 0 if rewound or known is None else self.progress.done
        self._lacking = {signal.seq: signal for signal in state.signals if signal.seq > begins}
        if rewound:
            _log.warning("subscriber.truth_put_back", known=known, seq=state.seq)
        if rewound or known is None:
            self.place(state.seq)
            await self._tell_lacking(state.seq)

    async def _tell_lacking(self, through: int) -> None:
        """Pass on what only the state holds, then count all up to here as heard."""
        for seq in sorted(seq for seq in self._lacking if seq <= through):
            await self.queue.put((self._lacking.pop(seq), None))
        await self.queue.put((None, self.progress.done))

    def _tell(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
