"""What one agent has heard, by whichever way it came."""

import asyncio
from collections.abc import Callable

import structlog

from openbrain.agents.api import Missed, Present
from openbrain.agents.halts import Halts
from openbrain.agents.progress import Progress
from openbrain.events import Broadcast

_log = structlog.get_logger(__name__)
WAITING = 10_000
"""Signals in hand before reading waits for the handler."""
Item = tuple[Broadcast | None, int | None]
"""A signal to handle, and up to which number everything is handled once it is; None where that is not known."""


class Hearing:
    """Filled by the readers, emptied by the handler. Halts count at once, signals in the order in which they came."""

    def __init__(self, org: str, project: str, *, cut_off_s: float | None, clock: Callable[[], float]) -> None:
        self.halts = Halts(org, project)
        self.progress = Progress(0)
        self.placed = asyncio.Event()
        """Whether it is known where to begin."""
        self.queue: asyncio.Queue[Item] = asyncio.Queue(WAITING)
        self.position = 0
        """Of the reader of the stream: behind it nothing was read yet."""
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

    async def moved(self) -> None:
        """Wait until what `halted` says may have changed."""
        await self._moved.wait()

    def halts_of(self, broadcast: Broadcast) -> None:
        """What it says of a halt, before anything else."""
        if broadcast.halt_id is not None:
            self.halts.heard(broadcast)
            self._tell()

    async def take(self, broadcast: Broadcast) -> None:
        """One broadcast; again does no harm."""
        self.contact()
        self.halts_of(broadcast)
        if self.progress.note(broadcast.seq):
            await self.queue.put((broadcast, self.progress.done))

    async def complete(self, through: int) -> None:
        """The truth has nothing else up to here."""
        if through > self.progress.done:
            self.progress.complete(through)
            await self.queue.put((None, self.progress.done))

    async def missed(self, page: Missed) -> None:
        """A page of the truth's."""
        for broadcast in page.broadcasts:
            await self.take(broadcast)
        await self.complete(page.through)

    async def present(self, state: Present, known: int | None) -> None:
        """How things stand. `known`: how far was heard when the question was asked; None: nothing ever was."""
        self.contact()
        rewound = known is not None and state.seq < known
        self.halts.present(state.seq, state.halts, rewound=rewound)
        self._tell()
        if known is None:
            self.place(state.seq)
            for signal in state.signals:
                await self.queue.put((signal, None))
            await self.queue.put((None, state.seq))
        elif rewound:
            _log.warning("subscriber.truth_put_back", known=known, seq=state.seq)
            self.place(state.seq)
            await self.queue.put((None, state.seq))

    def _tell(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
