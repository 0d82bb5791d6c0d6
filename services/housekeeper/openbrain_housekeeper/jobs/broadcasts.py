"""Keeps broadcast streams consistent with the store: handles entries published twice, lost, or too old."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import structlog
from redis.asyncio import Redis

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.outbox import OutboxEntry
from openbrain.ports.store.signals import Broadcasts
from openbrain.settings import Streams
from openbrain.streams.publishing import broadcast_writer
from openbrain_housekeeper.jobs.relay import Publisher

PAGE = 500
_log = structlog.get_logger(__name__)


class Broadcasting:
    """Used only by the leader. `lock` is held while broadcasts are published, so that they stay in order."""

    def __init__(self, broadcasts: Broadcasts, client: Redis, publisher: Publisher, settings: Streams) -> None:
        self._broadcasts, self._client, self._publisher, self._settings = broadcasts, client, publisher, settings
        self.lock = asyncio.Lock()
        self._lacking: Mapping[str, int] = {}
        """By workspace: the last number on its stream, for streams that were incomplete in the last round."""
        self._resent: dict[str, int] = {}
        """By workspace: waiting broadcasts up to this number were renumbered. Losing this only causes duplicates."""

    async def settle(self, entry: OutboxEntry) -> None:
        """Handle a broadcast whose number the stream has passed. Usually it was published before. If the stream is
        ahead because the database was restored, give waiting broadcasts new numbers above the stream's."""
        workspace, number = broadcast_writer.workspace_of(entry.stream), broadcast_writer.number_of(entry.body)
        stream = self._settings.prefix + entry.stream
        held = await broadcast_writer.held(self._client, stream, number)
        if held == entry.body or number <= self._resent.get(workspace, 0):
            return
        (reached,) = await broadcast_writer.last_numbers(self._client, [stream])
        last = await self._broadcasts.last_seq(workspace)
        if not broadcast_writer.is_plausible(reached, last):
            await self._begin_anew(workspace, reached)
            await self._fill(workspace, 0)
            return
        if held is None and last >= reached:
            return
        await self._broadcasts.renumber(workspace, number, reached)
        self._resent[workspace] = last
        _log.warning("broadcasts.numbered_anew", stream=stream, above=reached, first=number, last=last)

    async def ahead(self) -> int:
        """Publish broadcasts missing on the streams ahead of older outbox entries: an alarm waits for no backlog.
        Return their number."""
        done = 0
        async for page in self._pages():
            for workspace, top in await self._short(page):
                done += await self._fill(workspace, top)
        return done

    async def mend(self) -> int:
        """Publish again what the server lost at the end of its streams: what is missing now and was missing in the last
        round, since the newest may still be on their way. Return their number."""
        done, lacking = 0, {}
        async for page in self._pages():
            async with self.lock:
                for workspace, top in await self._short(page):
                    if self._lacking.get(workspace) == top:
                        if count := await self._fill(workspace, top):
                            _log.warning("broadcasts.published_again", stream=self._stream(workspace), count=count)
                        done += count
                    else:
                        lacking[workspace] = top
        self._lacking = lacking
        return done

    async def _short(self, page: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """The workspaces with incomplete streams, with the last number on each. A stream with a forged number is
        deleted; its last number is 0."""
        reached = await broadcast_writer.last_numbers(self._client, [self._stream(workspace) for workspace, _ in page])
        short = []
        for (workspace, seq), top in zip(page, reached, strict=True):
            if not broadcast_writer.is_plausible(top, seq):
                await self._begin_anew(workspace, top)
                short.append((workspace, 0))
            elif top < seq:
                short.append((workspace, top))
        return short

    async def _begin_anew(self, workspace: str, reached: int) -> None:
        stream = self._stream(workspace)
        await broadcast_writer.delete_stream(self._client, stream)
        _log.error("broadcasts.forged", stream=stream, number=reached)

    async def _fill(self, workspace: str, after: int) -> int:
        done = 0
        while rows := await self._broadcasts.broadcasts_after(workspace, after, PAGE):
            stream = broadcast_writer.stream_of(workspace)
            results = await self._publisher.publish([(stream, row.body) for row in rows])
            refused = next((result for result in results if result is not None), None)
            if refused is not None:
                raise TryLater(f"the stream server refused a broadcast ({type(refused).__name__}): it is sent later")
            done, after = done + len(rows), rows[-1].seq
        return done

    async def trim(self, now: int) -> int:
        """Remove entries past the retention time from the streams (`now`: microseconds). Return their number."""
        removed = 0
        oldest = now - round(self._settings.retention_s * MICROSECONDS)
        async for page in self._pages():
            for workspace, seq in page:
                floor = await self._broadcasts.broadcast_floor(workspace, oldest)
                kept = await self._broadcasts.broadcasts_after(workspace, floor, 1)
                before = kept[0].seq if kept else seq + 1
                removed += await broadcast_writer.trim(self._client, self._stream(workspace), before)
        return removed

    def _stream(self, workspace: str) -> str:
        return self._settings.prefix + broadcast_writer.stream_of(workspace)

    async def _pages(self) -> AsyncIterator[Sequence[tuple[str, int]]]:
        after = ""
        while page := await self._broadcasts.last_seqs(after, PAGE):
            yield page
            after, _ = page[-1]
