"""HTTP connections with limits: uvicorn's have none for the size of a head or the duration of a request."""

import enum
import json
import resource
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from openbrain.observability import metrics

PIPELINED = 64
"""Maximum number of requests that wait on a connection behind the current one."""
LINGER_S = 2.0
"""Seconds to read and discard input after a refusal: closing with unread bytes would lose the response."""
CROWD = 256
"""Number of connections above the limit that still get an error response; more are dropped."""
_OTHER_FILES = 512
"""Descriptors for databases, streams and indexes."""
_MESSAGES = {
    400: ("bad_request", "this is no HTTP/1.1 request that can be read"),
    408: ("request_timeout", "the request took too long to arrive: send it again, whole"),
    431: ("headers_too_large", "the head of the request is too large: send fewer or shorter headers, or a shorter URL"),
    503: ("service_error", "too many connections are open here: wait, or start another replica"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """`head_s`: from the first byte of a head to its last. `body_s`: the longest pause within a body, and the longest
    time in which a client reads nothing of a response."""

    head_bytes: int = 64 * 1024
    head_s: float = 10
    body_s: float = 30
    connections: int = 4096


class _Stage(enum.Enum):
    IDLE = enum.auto()
    """No byte of a request has arrived."""
    HEAD = enum.auto()
    BODY = enum.auto()
    REFUSED = enum.auto()


class Connection(HttpToolsProtocol):
    """Limits requests: 431 for a head, chunk extensions or trailers that are too large, 408 for a request that stops
    arriving. At the limit of connections, the one that has waited longest without a complete request is closed; 503
    if all are being served.

    Each server has its own subclass, with its `bounds` and `waiting`.
    """

    bounds: ClassVar[Bounds] = Bounds()
    waiting: "ClassVar[dict[Connection, None]]"
    """Connections without a complete request, the longest waiting first."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._stage = _Stage.IDLE
        self._since = self.loop.time()
        """When this stage began or last made progress."""
        self._pending = 0
        """Bytes since the parser last finished a head, a piece of a body or a message."""
        self._head = 0
        """Bytes of the URL and of the complete headers of this message."""
        self._unwritten, self._taken_at = 0, 0.0
        self._closing_at: float | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        crowd = len(self.connections) - self.bounds.connections
        if crowd > CROWD:
            transport.abort()
            return
        if crowd > 0:
            oldest = next(iter(self.waiting), None)
            if oldest is None:
                self._refuse(503)
                return
            oldest.give_way()
        self.waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()  # from here on `look` enforces the time limits
        rest = memoryview(data)
        while rest and self._stage is not _Stage.REFUSED and not self.transport.is_closing():
            if self._stage is _Stage.IDLE:
                self._enter(_Stage.HEAD)
            part = rest
            if self._stage is _Stage.HEAD:
                part = rest[: self.bounds.head_bytes - self._pending]
            rest = rest[len(part) :]
            self._feed(part)

    def _feed(self, part: memoryview) -> None:
        self._pending += len(part)
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserUpgrade:
            # Upgrades are not supported: answer the request as it is, then close.
            if self.cycle is not None:
                self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            self._refuse(431 if isinstance(error.__context__, _TooLarge) else 400)
            return
        if self._pending >= self.bounds.head_bytes:
            self._refuse(431)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        if self._stage is _Stage.IDLE:  # it arrived with the end of the previous message
            self._enter(_Stage.HEAD)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + len(b": \r\n"))
        if self._stage is _Stage.HEAD:  # a trailer must not become a header of the request
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._head = 0
        self._enter(_Stage.BODY)
        self.waiting.pop(self, None)
        if len(self.pipeline) > PIPELINED:
            self._refuse(503)

    def on_body(self, body: bytes) -> None:
        self._enter(_Stage.BODY)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._enter(_Stage.IDLE)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._since = self.loop.time()
        if not self._busy:
            self.waiting[self] = None

    def shutdown(self) -> None:
        if self._stage is _Stage.REFUSED:
            self.transport.close()
        else:
            super().shutdown()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unwritten, self._taken_at = -1, self.loop.time()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours is a problem document, like all errors
        self._refuse(400)

    def give_way(self) -> None:
        """Close this connection to make room for another."""
        self.waiting.pop(self, None)
        if self._stage is _Stage.HEAD:
            self._refuse(408)
        elif not self.transport.is_closing():
            self.transport.close()

    def look(self, now: float) -> None:
        """Close the connection if it makes no progress. Called periodically."""
        if self.transport.is_closing() or self._stage is _Stage.REFUSED:
            self._see_closed(now)
        elif self.flow.write_paused and self._untaken(now):
            self.transport.abort()
        elif self._stage is _Stage.BODY:
            self._look_at_body(now)
        elif self._busy:
            self._since = now  # a request behind this one waits for its response
        elif (self._stage is _Stage.HEAD or self.cycle is None) and now - self._since > self.bounds.head_s:
            self.give_way()

    def _look_at_body(self, now: float) -> None:
        ours = self._busy and (self.flow.read_paused or self.cycle.waiting_for_100_continue)
        if ours:
            self._since = now
        elif now - self._since > self.bounds.body_s:
            self._refuse(408)

    def _untaken(self, now: float) -> bool:
        """True if the client has read nothing of the response for `body_s`."""
        left = self.transport.get_write_buffer_size()
        if left != self._unwritten:
            self._unwritten, self._taken_at = left, now
        return now - self._taken_at > self.bounds.body_s

    def _see_closed(self, now: float) -> None:
        """Abort a closing connection if the client does not read the rest within `LINGER_S`."""
        if self._closing_at is None:
            self._closing_at = now
        elif now - self._closing_at > LINGER_S:
            self.transport.abort()

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _enter(self, stage: _Stage) -> None:
        self._stage, self._since, self._pending = stage, self.loop.time(), 0

    def _count(self, size: int) -> None:
        """Count a head's bytes, even if it arrives with the end of another message."""
        self._head += size
        if self._head > self.bounds.head_bytes:
            raise _TooLarge

    def _refuse(self, status: int) -> None:
        """Send an error response if one is due, and close the connection."""
        if self._stage is _Stage.REFUSED:
            return
        metrics.HTTP_REFUSED.labels(str(status)).inc()
        unanswered = not self._busy or (
            self._stage is _Stage.BODY and not self.pipeline and not self.cycle.response_started
        )
        after_answer = not self._busy and self._stage is _Stage.BODY
        self._stage = _Stage.REFUSED
        self.waiting.pop(self, None)
        if self._busy:  # tell the handler that the client is gone
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.transport.is_closing():
            return
        if unanswered and not after_answer:
            self.transport.write(_answer(status, self.server_state.default_headers))
        if self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()


class _TooLarge(Exception):
    """Raised in a callback of the parser."""


def _answer(status: int, headers: Any) -> bytes:
    code, message = _MESSAGES[status]
    title = HTTPStatus(status).phrase
    problem = {"error": code, "message": message, "type": f"urn:openbrain:problem:{code}", "title": title}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        problem["stored"] = "no"
    body = json.dumps({**problem, "status": status, "detail": message}).encode()
    fields = [*headers, (b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))]
    fields += [(b"cache-control", b"no-store"), (b"connection", b"close")]
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        fields.append((b"retry-after", b"1"))
    return b"".join([STATUS_LINE[status], *(name + b": " + value + b"\r\n" for name, value in fields), b"\r\n", body])


def affordable(connections: int) -> int:
    """The number of connections, limited by the process's open files. Raises that limit as far as permitted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + CROWD + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, soft - CROWD - _OTHER_FILES))
