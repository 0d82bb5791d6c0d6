"""`ports.hearing.Hearing` on Redis."""

from collections.abc import Sequence

from openbrain.events import FIELD
from openbrain.ports.hearing import Spoken
from openbrain.streams.administration import answering
from openbrain.streams.broadcasting import stream_of
from openbrain.streams.connection import Connecting, ask

ENTRIES = 200
"""Read at once, at most."""
_FIELD = FIELD.encode()


class RedisHearing(Connecting):
    """Each blocking read has a connection of its own."""

    async def hear(self, workspace_id: str, after: int, wait_s: float) -> Sequence[Spoken]:
        """As in the port."""
        stream = self._settings.prefix + stream_of(workspace_id)
        wait_ms = max(1, round(min(wait_s, self._settings.poll_s) * 1000))  # longer would look like silence
        with answering("hearing broadcasts"):
            found = await ask(
                self._client, "XREAD", "COUNT", ENTRIES, "BLOCK", wait_ms, "STREAMS", stream, f"{after}-0"
            )
        entries = found[0][1] if found else ()
        return [
            Spoken(int(entry.partition(b"-")[0]), fields[_FIELD])
            for entry, fields in entries
            if fields and _FIELD in fields
        ]
