"""The channels of all workspaces with listeners, and the limit of listeners."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from weakref import WeakSet

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import TryLater
from openbrain.domain.signals.values import Present
from openbrain.ports.store.store import Store
from openbrain.ports.streams import BroadcastStream, StreamedBroadcast
from openbrain_api.broadcasts.channel import PAGE, Channel, Listener
from openbrain_api.broadcasts.coalescer import Coalescer

SIGNALS = 100
"""Most signals in one state; the most severe are kept."""


class Hub:
    """`most`: listeners at once. `look_s`: seconds until the store is read while the stream server is silent."""

    def __init__(self, store: Store, stream: BroadcastStream, *, most: int, look_s: float = 1.0) -> None:
        self._store = store
        self._stream = stream
        self._most = most
        self._look_s = look_s
        self._channels: dict[str, Channel] = {}
        self._present: Coalescer[Viewer, Present] = Coalescer(lambda eyes, _: store.signals.present(eyes, SIGNALS))
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._admitted: WeakSet[Listener] = WeakSet()
        self._draining = False

    @property
    def listening(self) -> int:
        """The number of listeners."""
        return sum(len(channel.listeners) for channel in self._channels.values())

    def admit(self, listener: Listener) -> None:
        """Count a listener from now until it ends, even before it joins a channel. Raise `TryLater` at the limit."""
        if self._draining:
            raise TryLater("this process is about to end: listen again, another one answers")
        if len(self._admitted) >= self._most:
            self._admitted = WeakSet(admitted for admitted in self._admitted if not admitted.ended)
        if len(self._admitted) >= self._most:
            self._make_room(listener.workspace_id)
        self._admitted.add(listener)

    def _make_room(self, workspace_id: str) -> None:
        """End a listener of the workspace that has the most, for one that has fewer: no workspace may take all places,
        and so keep alarms from the others. Raise `TryLater` if the places are shared evenly."""
        counts = Counter(admitted.workspace_id for admitted in self._admitted)
        largest, number = counts.most_common(1)[0]
        if number < counts[workspace_id] + 2:
            raise TryLater(f"{self._most} listen here already: wait, or start another replica of the API")
        ended = next(admitted for admitted in self._admitted if admitted.workspace_id == largest)
        ended.end()
        self._admitted.discard(ended)

    @asynccontextmanager
    async def listener(self, workspace_id: str, listener: Listener) -> AsyncIterator[Channel]:
        """Listen while the block runs. Raise `TryLater` if the store does not answer."""
        channel = await self.channel(workspace_id)
        self._admitted.add(listener)
        channel.join(listener)
        if self._draining:
            listener.end()
        try:
            yield channel
        finally:
            channel.leave(listener)
            self._admitted.discard(listener)

    async def channel(self, workspace_id: str) -> Channel:
        async with self._locks[workspace_id]:
            known = self._channels.get(workspace_id)
            if known is not None and known.open:
                known.left_at = time.monotonic()
                return known
            self._channels = {name: channel for name, channel in self._channels.items() if channel.open}
            top = await self._store.broadcasts.last_seq(workspace_id)
            rows = await self._store.broadcasts.broadcasts_after(workspace_id, max(0, top - PAGE), PAGE)
            recent = [StreamedBroadcast(row.seq, row.body) for row in rows]
            made = Channel(
                workspace_id, self._store.broadcasts, self._stream, top=top, recent=recent, look_s=self._look_s
            )
            self._channels[workspace_id] = made
            return made

    async def present(self, viewer: Viewer) -> Present:
        """Open signals for a new listener. They are read after its request, so that no acknowledged halt is missing.
        Requests that arrive during a read share the next read."""
        return await self._present.call(replace(viewer, agent_id="", session_id=""), viewer.agent_id)

    def drain(self) -> None:
        """End all listeners and admit no more: the process is about to end."""
        self._draining = True
        for listener in list(self._admitted):
            listener.end()

    async def close(self) -> None:
        """End all listeners and close all channels."""
        self.drain()
        channels, self._channels = list(self._channels.values()), {}
        for channel in channels:
            await channel.close()
