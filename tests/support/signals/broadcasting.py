"""Broadcasts for tests: raised in the database, put on their stream as the relay does."""

from collections.abc import Sequence
from typing import Any

from openbrain.adapters.sql.store import SqlStore
from openbrain.settings import Streams
from openbrain.streams.publishing.publisher import Publisher
from openbrain_api.broadcasts.channel import Channel, Listener
from tests.support.signals.raising import raise_one
from tests.support.waiting import until


async def burn(store: SqlStore, *titles: str, workspace_id: str = "w1", org: str = "") -> None:
    """Raise one signal, and so one broadcast, for each title."""
    for title in titles:
        await raise_one(store, workspace_id=workspace_id, title=title, content=title, source=title, org=org)


async def relay(store: SqlStore, streams: Streams) -> int:
    """Publish the outbox; return the number of entries."""
    publisher: Any = Publisher(streams)
    try:
        entries = await store.outbox.take(500)
        for result in await publisher.publish([(entry.stream, entry.body) for entry in entries]):
            assert result is None, result
        await store.outbox.delete([entry.id for entry in entries])
    finally:
        await publisher.close()
    return len(entries)


class Ear:
    """A listener to a channel, as a client's stream is."""

    def __init__(self, channel: Channel, cursor: int = 0) -> None:
        self.channel = channel
        self.cursor = cursor
        self.heard: list[int] = []
        self.listener = Listener()
        channel.join(self.listener)

    async def catch_up(self) -> Sequence[int]:
        """Return all numbers received so far."""
        while found := await self.channel.after(self.cursor):
            self.heard += [each.seq for each in found]
            self.cursor = found[-1].seq
        return self.heard

    async def hears(self, *numbers: int) -> None:
        """Wait until exactly these numbers have arrived, each once and in order; raise TimeoutError otherwise."""

        async def all_heard() -> bool:
            return list(await self.catch_up()) == list(numbers)

        await until(all_heard)
