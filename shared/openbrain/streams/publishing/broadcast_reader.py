"""`ports.signals.BroadcastStream` on Redis."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from openbrain.domain.events.envelope import FIELD_BYTES
from openbrain.ports.streams import StreamedBroadcast
from openbrain.settings import Streams
from openbrain.streams.publishing.broadcast_writer import is_plausible, stream_of
from openbrain.streams.redis.connection import AWAY, Connecting, ask, errors_as_try_later
from openbrain.streams.redis.entry_ids import after_number, first_part
from openbrain.streams.redis.outage import Link, absence

ENTRIES = 200
"""Entries per read, at most."""
AGAIN_S = 0.5


class RedisBroadcastStream(Connecting):
    """`ports.signals.BroadcastStream` on Redis. Each blocking read uses its own connection."""

    def __init__(self, settings: Streams) -> None:
        super().__init__(settings)
        self._failing: dict[str, Link] = {}
        """Links of the workspaces whose last read got no answer."""

    async def read(self, workspace_id: str, after: int, wait_s: float) -> Sequence[StreamedBroadcast]:
        stream = self._settings.prefix + stream_of(workspace_id)
        block_s = min(wait_s, self._settings.tuning.poll_s)  # a longer one would look like an outage
        with errors_as_try_later("broadcasts can't be read now"), self._reported(workspace_id):
            response = await ask(
                self._client,
                *("XREAD", "COUNT", ENTRIES, "BLOCK", max(1, round(block_s * 1000))),
                *("STREAMS", stream, after_number(after)),
            )
        entries = response[0][1] if response else ()
        numbered = [(first_part(entry), fields) for entry, fields in entries]
        broadcasts = [
            StreamedBroadcast(number, fields[FIELD_BYTES])
            for number, fields in numbered
            if fields and FIELD_BYTES in fields and is_plausible(number, after)
        ]
        if numbered and not broadcasts:  # skipped entries would be returned again at once
            await asyncio.sleep(min(wait_s, AGAIN_S))
        return broadcasts

    @contextmanager
    def _reported(self, workspace_id: str) -> Iterator[None]:
        try:
            yield
        except AWAY as error:
            if absence(error) is not None:
                self._failing.setdefault(workspace_id, Link("read broadcasts")).failed(error)
            raise
        if (link := self._failing.pop(workspace_id, None)) is not None:
            link.answered()
