"""Server-sent events, encoded once for all listeners."""

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
    """One broadcast, encoded."""

    seq: int
    org: str
    event: bytes
    frame: bytes
    veiled: bytes = b""
    """The event for viewers who may see that everyone halts, but not why. Empty if others may not see it at all."""

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return 2 * len(self.frame)

    def to(self, viewer: Viewer) -> bytes:
        """The event as the viewer may see it; empty if not at all."""
        return self.event if viewer.sees_org(self.org) else self.veiled

    def frame_to(self, viewer: Viewer) -> bytes:
        """Return the server-sent event that this viewer may see; empty if none."""
        if viewer.sees_org(self.org):
            return self.frame
        return frame(BROADCAST, self.veiled, self.seq) if self.veiled else b""


class Unreadable(Exception):
    """The stream entry is not one of our broadcasts."""


def encoded(spoken: StreamedBroadcast) -> EncodedBroadcast:
    """Encode a broadcast from the stream or the database. Raise `Unreadable` for an entry that is not one of ours."""
    try:
        event = orjson.loads(spoken.event)
        fields = event["data"]
        seq, org = fields["seq"], fields.get("org") or ""
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unreadable from None
    if seq != spoken.seq or not isinstance(org, str):
        raise Unreadable
    data = spoken.event
    if b"\n" in data or b"\r" in data:  # a line break would end the field
        data = orjson.dumps(event)
    return EncodedBroadcast(seq, org, data, frame(BROADCAST, data, seq), veiled(data) if _for_everyone(fields) else b"")


def _for_everyone(fields: Mapping[str, object]) -> bool:
    """True if the event is for everyone, as in `signals.broadcast_events.for_everyone`."""
    of_workspace = fields.get("halt_scope") == HaltScope.WORKSPACE
    return of_workspace and (bool(fields.get("halt")) or fields.get("change") in (Step.RESUMED, Step.HALT_EXPIRED))


def frame(name: str, data: bytes, seq: int | None = None) -> bytes:
    """One server-sent event. The client sends `seq` back as `Last-Event-ID` when it reconnects."""
    id_line = b"" if seq is None else b"id: %d\n" % seq
    return b"%sevent: %s\ndata: %s\n\n" % (id_line, name.encode(), data)


def retry(milliseconds: int) -> bytes:
    """The pause before the client reconnects."""
    return b"retry: %d\n\n" % milliseconds


def frames(viewer: Viewer, broadcasts: Iterable[EncodedBroadcast]) -> bytes:
    """The frames for a viewer. Of broadcasts hidden from it, only the numbers are sent, so that it sees no gap."""
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
    """The numbers `first` to `last`, both included, that this client does not receive."""
    return frame("skipped", orjson.dumps({"first": first, "last": last}), last)
