"""`client.subscriber.api.Stream` on Redis: the broadcast stream of a workspace, read at the reader's pace."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import structlog
from redis.exceptions import ResponseError

from openbrain.domain.errors import Invalid, TryLater, UnknownVersion
from openbrain.domain.events.data import Broadcast
from openbrain.domain.events.envelope import FIELD_BYTES
from openbrain.domain.events.streams import BROADCAST
from openbrain.settings import Streams
from openbrain.settings.tuning import StreamTuning
from openbrain.streams.publishing.broadcast_writer import is_plausible
from openbrain.streams.redis.connection import AWAY, ask, connect, disconnect, is_gone
from openbrain.streams.redis.entry_ids import after_number, first_part

_log = structlog.get_logger(__name__)
COUNT = 500
"""Maximum entries per read."""
AGAIN_S = 0.5
READ_S = 1.0


def broadcast_stream(url: str, prefix: str, workspace: str) -> "BroadcastStream":
    return BroadcastStream(Streams(url=url, prefix=prefix, tuning=StreamTuning(poll_s=READ_S)), workspace)


class BroadcastStream:
    """Reads without a consumer group: the server keeps no state for the reader."""

    def __init__(self, settings: Streams, workspace: str) -> None:
        self.name = f"{settings.prefix}{BROADCAST.name}.{workspace}"
        self._settings = settings
        self._client = connect(settings)
        self._decode = BROADCAST.decoder()

    async def after(self, seq: int) -> Sequence[tuple[int, Broadcast | None]]:
        """Return broadcasts after `seq`, with None for an entry that can't be decoded. Wait at most `poll_s` for one;
        may be empty. `TimeoutError` if the server does not respond."""
        wait_s = self._settings.tuning.poll_s
        # Notices a silent server earlier than the socket timeout.
        with _reachable():
            async with asyncio.timeout(wait_s + max(1, wait_s)):
                response = await ask(
                    self._client,
                    *("XREAD", "COUNT", COUNT, "BLOCK", max(1, round(wait_s * 1000))),
                    *("STREAMS", self.name, after_number(seq)),
                )
        if not response:
            return ()
        ((_, entries),) = response.items() if isinstance(response, dict) else response
        broadcasts = [
            (first_part(entry), self._broadcast(entry, fields))
            for entry, fields in entries
            if is_plausible(first_part(entry), seq)
        ]
        if not broadcasts:  # skipped entries would be returned again at once
            await asyncio.sleep(min(wait_s, AGAIN_S))
        return broadcasts

    async def last(self) -> int:
        """Return the number of the last entry ever added; 0 if the stream does not exist."""
        with _reachable():
            try:
                response = await ask(self._client, "XINFO", "STREAM", self.name)
            except ResponseError as error:
                if is_gone(error):
                    return 0
                raise
        info = response if isinstance(response, dict) else dict(zip(response[::2], response[1::2], strict=True))
        return first_part(info.get("last-generated-id") or info[b"last-generated-id"])

    async def close(self) -> None:
        """Close the connection."""
        await disconnect(self._client)

    def _broadcast(self, entry: bytes, fields: Sequence[bytes] | dict[bytes, bytes]) -> Broadcast | None:
        given = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
        try:
            event = self._decode(given.get(FIELD_BYTES, b""))
        except (Invalid, UnknownVersion) as error:
            _log.warning("subscriber.entry_refused", entry=first_part(entry), error=type(error).__name__)
            return None
        broadcast: Broadcast = event.data
        return broadcast


@contextmanager
def _reachable() -> Iterator[None]:
    try:
        yield
    except AWAY as error:
        raise TryLater("the stream server does not answer") from error
