"""Writing finished events to streams."""

from collections.abc import Sequence

from redis.exceptions import ResponseError

from openbrain.domain.errors import NeverRetry, OpenBrainError, TryLater
from openbrain.domain.events.envelope import FIELD
from openbrain.ports.store.signals import StaleSequence
from openbrain.streams.publishing.broadcast_writer import number_of, workspace_of
from openbrain.streams.redis import scripts
from openbrain.streams.redis.connection import AWAY, Connected, words

_UNWILLING = {"READONLY", "MISCONF", "OOM", "LOADING", "MASTERDOWN", "NOREPLICAS", "BUSY", "TRYAGAIN", "CLUSTERDOWN"}
_SMALL = "equal or smaller than the target stream top item"
_ANY = "*"


class Publisher(Connected):
    """Appends events, all in one call. At least once: after an error events may be published again."""

    async def publish(self, entries: Sequence[tuple[str, bytes]]) -> list[OpenBrainError | None]:
        """Append each (stream's name without prefix, event's bytes), in order.

        Return one result for each: None if it is in the stream; `TryLater` if the server refused it for now;
        `NeverRetry` if it can't accept it (the key is not a stream); `StaleSequence` if it is a broadcast whose number
        the stream has already reached. Raises `TryLater` if no entry is known to be stored.
        """
        if not entries:
            return []
        streams = [self._settings.prefix + stream for stream, _ in entries]
        ids = [_entry_id(stream, event) for stream, event in entries]
        if all(id_ == _ANY for id_ in ids):
            ids = []
        try:
            # A pipeline of commands costs redis-py six times as much.
            refusals = await scripts.PUBLISH(self._client, streams, FIELD, *(event for _, event in entries), *ids)
        except ResponseError as error:
            raise TryLater(f"Redis refuses writes now ({type(error).__name__}): {words(error)}") from error
        except AWAY as error:
            raise TryLater(f"Redis does not answer ({type(error).__name__}): the events are sent later") from error
        results = [_result(refusal) for refusal in refusals]
        if all(isinstance(result, TryLater) for result in results):
            raise results[0] or TryLater("Redis refuses events")
        return results


def _entry_id(stream: str, event: bytes) -> str:
    """Return a broadcast's number as id; `*` if the server assigns the id."""
    return f"{number_of(event)}-0" if workspace_of(stream) else _ANY


def _result(refusal: bytes | None) -> OpenBrainError | None:
    if refusal is None:
        return None
    text = refusal.decode(errors="replace")[:200]
    if _SMALL in text:
        return StaleSequence("the stream has reached this broadcast's number: compare it with the database")
    if text.split(" ", 1)[0] in _UNWILLING:
        return TryLater(f"Redis refuses writes now: {text}")
    return NeverRetry(f"Redis refused the event: {text}")
