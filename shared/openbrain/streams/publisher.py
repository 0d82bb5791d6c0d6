"""Writing finished events to streams."""

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from openbrain.errors import NeverRetry, OpenBrainError, TryLater
from openbrain.events import FIELD
from openbrain.settings import Streams
from openbrain.streams.connection import AWAY, connect, disconnect

_UNWILLING = ("READONLY", "MISCONF", "OOM", "LOADING", "MASTERDOWN", "NOREPLICAS", "BUSY", "TRYAGAIN", "CLUSTERDOWN")


class Publisher:
    """Appends events in pipelines. At least once: what was published before an error may be published again."""

    def __init__(self, settings: Streams, client: Redis | None = None) -> None:
        self._prefix = settings.prefix
        self._client = client or connect(settings)
        self._owned = client is None

    async def publish(self, entries: Sequence[tuple[str, bytes]]) -> list[OpenBrainError | None]:
        """Append each (stream's name without prefix, event's bytes), in order.

        One result for each: None when it is in the stream; `TryLater` when the server was unwilling for this one;
        `NeverRetry` when it can't take it (the key is no stream). Raises `TryLater` when no entry is known to be in.
        """
        if not entries:
            return []
        pipeline = self._client.pipeline(transaction=False)
        for stream, event in entries:
            pipeline.execute_command("XADD", self._prefix + stream, "*", FIELD, event)
        try:
            answers = await pipeline.execute(raise_on_error=False)
        except AWAY as error:
            raise TryLater(f"Redis does not answer ({type(error).__name__}): the events are sent later") from error
        results = [_result(answer) for answer in answers]
        if all(isinstance(result, TryLater) for result in results):
            raise results[0] or TryLater("Redis takes no events")
        return results

    async def close(self) -> None:
        """Close the connection, if it was made here."""
        if self._owned:
            await disconnect(self._client)


def _result(answer: object) -> OpenBrainError | None:
    if not isinstance(answer, Exception):
        return None
    text = str(answer)
    if not isinstance(answer, ResponseError) or _code(answer, text) in _UNWILLING:
        return TryLater(f"Redis takes no writes now ({type(answer).__name__}): {text[:200]}")
    return NeverRetry(f"Redis refused the event: {text[:200]}")


def _code(answer: Exception, text: str) -> str:
    # redis-py cuts the code off where it has a class for it.
    known = {"ReadOnlyError": "READONLY", "OutOfMemoryError": "OOM", "BusyLoadingError": "LOADING"}
    return known.get(type(answer).__name__) or text.split(" ", 1)[0]
