"""Server-sent events, encoded once and written to everyone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.signals.broadcast_events import veiled
from openbrain.domain.signals.values import HaltScope, Step
from openbrain.ports.streams import StreamedBroadcast

MEDIA = "text/event-stream"
BROADCAST = "broadcast"
HEARTBEAT = b":\n\n"


@dataclass(frozen=True, slots=True)
class EncodedBroadcast:
    """One broadcast, ready to be written."""

    seq: int
    org: str
    event: bytes
    frame: bytes
    veiled: bytes = b""
    """The event for who may know that everyone halts, and not why; empty where it is no business of his."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        return 2 * len(self.frame)

    def to(self, viewer: Viewer) -> bytes:
        """The event as these eyes may see it; empty where they may not."""
        return self.event if viewer.sees_org(self.org) else self.veiled

    def frame_to(self, viewer: Viewer) -> bytes:
        """The event for a viewer as a server-sent event."""
        if viewer.sees_org(self.org):
            return self.frame
        return frame(BROADCAST, self.veiled, self.seq) if self.veiled else b""


class Unreadable(Exception):
    """The entry of the stream is no broadcast of ours."""


def encoded(spoken: StreamedBroadcast) -> EncodedBroadcast:
    """A broadcast as it came from the stream or the truth. `Unreadable` for one that somebody else wrote."""
    try:
        event = orjson.loads(spoken.event)
        fields = event["data"]
        seq, org = fields["seq"], fields.get("org") or ""
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unreadable from None
    if seq != spoken.seq or not isinstance(org, str):
        raise Unreadable
    data = spoken.event
    if b"\n" in data or b"\r" in data:  # a line's end would end the field
        data = orjson.dumps(event)
    return EncodedBroadcast(seq, org, data, frame(BROADCAST, data, seq), veiled(data) if _for_everyone(fields) else b"")


def _for_everyone(fields: Mapping[str, object]) -> bool:
    """Whether the event is for everyone, like `signals.broadcast_events.for_everyone`."""
    whole = fields.get("halt_scope") == HaltScope.WORKSPACE
    return whole and (bool(fields.get("halt")) or fields.get("change") in (Step.RESUMED, Step.HALT_EXPIRED))


def frame(name: str, data: bytes, seq: int | None = None) -> bytes:
    """One event. `seq` becomes what the client says when it comes back (`Last-Event-ID`)."""
    id_line = b"" if seq is None else b"id: %d\n" % seq
    return b"%sevent: %s\ndata: %s\n\n" % (id_line, name.encode(), data)


def retry(milliseconds: int) -> bytes:
    """The client's pause before it comes back."""
    return b"retry: %d\n\n" % milliseconds


def frames(viewer: Viewer, broadcasts: Iterable[EncodedBroadcast]) -> bytes:
    """The frames of a client; of the other broadcasts it gets the numbers, so that none is missing."""
    parts: list[bytes] = []
    hidden: list[int] = []
    for broadcast in broadcasts:
        if visible := broadcast.frame_to(viewer):
            parts += [*_skipped(hidden), visible]
        else:
            hidden.append(broadcast.seq)
    return b"".join([*parts, *_skipped(hidden)])


def _skipped(hidden: list[int]) -> list[bytes]:
    if not hidden:
        return []
    event = skipped(hidden[0], hidden[-1])
    hidden.clear()
    return [event]


def skipped(first: int, last: int) -> bytes:
    """Numbers, both included, that this client will not be sent."""
    return frame("skipped", orjson.dumps({"first": first, "last": last}), last)
