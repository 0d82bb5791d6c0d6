"""Server-sent events, encoded once and written to everyone."""

from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from openbrain.ports.hearing import Spoken
from openbrain.visibility import Viewer

MEDIA = "text/event-stream"
HEARTBEAT = b":\n\n"


@dataclass(frozen=True, slots=True)
class Heard:
    """One broadcast, ready to be written."""

    seq: int
    org: str
    event: bytes
    frame: bytes

    @property
    def size(self) -> int:
        """Bytes, about."""
        return 2 * len(self.frame)


class Unreadable(Exception):
    """What stands in the stream is no broadcast of ours."""


def heard(spoken: Spoken) -> Heard:
    """A broadcast as it came from the stream or the truth. `Unreadable` for one that somebody else wrote."""
    try:
        event = orjson.loads(spoken.event)
        said = event["data"]
        seq, org = said["seq"], said.get("org") or ""
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unreadable from None
    if seq != spoken.seq or not isinstance(org, str):
        raise Unreadable
    data = spoken.event
    if b"\n" in data or b"\r" in data:  # a line's end would end the field
        data = orjson.dumps(event)
    return Heard(seq, org, data, frame("broadcast", data, seq))


def frame(name: str, data: bytes, seq: int | None = None) -> bytes:
    """One event. `seq` becomes what the client says when it comes back (`Last-Event-ID`)."""
    place = b"" if seq is None else b"id: %d\n" % seq
    return b"%sevent: %s\ndata: %s\n\n" % (place, name.encode(), data)


def retry(milliseconds: int) -> bytes:
    """How long a client waits before it comes back."""
    return b"retry: %d\n\n" % milliseconds


def may_hear(viewer: Viewer, org: str) -> bool:
    """Whether a broadcast of this org ('' for none) is for these eyes."""
    return viewer.orgs is None or org in viewer.orgs or (not org and viewer.without_org)


def frames(viewer: Viewer, found: Iterable[Heard]) -> bytes:
    """What a client is sent of these; of the others it is told the numbers, so that none is missing."""
    parts: list[bytes] = []
    hidden: list[int] = []
    for each in found:
        if may_hear(viewer, each.org):
            parts += _skipped(hidden)
            parts.append(each.frame)
        else:
            hidden.append(each.seq)
    return b"".join([*parts, *_skipped(hidden)])


def _skipped(hidden: list[int]) -> list[bytes]:
    if not hidden:
        return []
    told = skipped(hidden[0], hidden[-1])
    hidden.clear()
    return [told]


def skipped(first: int, last: int) -> bytes:
    """Numbers, both included, that this client will not be sent."""
    return frame("skipped", orjson.dumps({"first": first, "last": last}), last)
