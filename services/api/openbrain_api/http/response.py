"""Responses: JSON, headers, and errors as problem documents."""

import enum
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus

import orjson
import structlog
from pydantic import BaseModel

from openbrain.domain.errors import (
    Backlogged,
    Conflict,
    Forbidden,
    Invalid,
    NeverRetry,
    NotFound,
    OpenBrainError,
    Outdated,
    QuotaExceeded,
    RateLimited,
    TryLater,
    Unauthorised,
    error_places,
)
from openbrain.domain.times import from_datetime, to_iso
from openbrain.usecases.vault_lock import VaultBusy

JSON = "application/json"
PROBLEM = "application/problem+json"
NDJSON = "application/x-ndjson"
_STATUSES: Mapping[type[Exception], int] = {
    Unauthorised: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    Outdated: 412,
    Invalid: 422,
    RateLimited: 429,
    TryLater: 503,
}
"""Status by error class; the first class that matches counts."""
_log = structlog.get_logger(__name__)


class Refused(NeverRetry):
    """A request that is refused before it reaches a handler: errors of HTTP itself."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class Response:
    """A status, an encoded body, its media type, headers, and optionally a stream of further parts."""

    status: int
    body: bytes
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: AsyncIterator[bytes] | None = None
    """The body in parts, sent as they come instead of `body`. If it fails, the response ends without its last chunk."""
    on_disconnect: Callable[[], None] | None = None
    """Called when the client disconnects, for a response that may be silent for long."""


Content = BaseModel | Mapping[str, object]
"""A handler's content: a model of the contract, or its members if building the model costs too much."""


def respond(
    content: Content, data: Content | None = None, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Respond with the content at the top level, and again in the envelope `data` for older clients. `data` replaces
    what the envelope holds."""
    encoded = to_json(content)
    envelope = encoded if data is None else to_json(data)
    members = b"" if encoded == b"{}" else encoded[1:-1] + b","
    return Response(status, b'{%s"data":%s}' % (members, envelope), headers=headers or {})


def respond_page(page: BaseModel) -> Response:
    """Respond with a page of a list; its envelope `data` has no cursor."""
    return respond(page, page.model_dump(exclude_unset=True, exclude={"next_cursor", "next_after"}))


def plain(content: Content, *, status: int = 200) -> Response:
    """Respond without the envelope."""
    return Response(status, to_json(content))


def to_json(content: object) -> bytes:
    """Encode as UTF-8 JSON. Members of a model that were not set are left out."""
    return orjson.dumps(content, _encoded, orjson.OPT_PASSTHROUGH_DATETIME)


def _encoded(value: object) -> object:
    match value:
        case BaseModel():
            return value.model_dump(exclude_unset=True)
        case datetime():
            return to_iso(from_datetime(value))
    raise TypeError


def header_fields(response: Response, extra_headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers to send. A response without its own `cache-control` gets `no-store`: it may hold secrets, memories or
    permissions."""
    own = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    kept = [] if "cache-control" in response.headers else [(b"cache-control", b"no-store")]
    return [*extra_headers, *own, *kept]


def problem_fields(error: Exception) -> dict[str, object]:
    """The members `error`, `message`, and those of the error's class. Unexpected errors get a general message."""
    if not isinstance(error, OpenBrainError):
        return {"error": "service_error", "message": "something went wrong here: it was logged, try again later"}
    fields: dict[str, object] = {"error": error.code, "message": str(error)}
    if isinstance(error, Invalid) and error.field:
        fields["field"] = error.field
    match error:
        case Conflict(head=str(head)):
            fields["head"] = head
        case QuotaExceeded():
            fields |= {"limit": error.limit, "used": error.used}
        case RateLimited():
            fields["rate_limit"] = {"limit": error.per_minute, "remaining": 0, "retry_after": _seconds(error)}
    return fields


class Stored(enum.Enum):
    """Outcome of a write that failed with a 5xx: the value of the member `stored`, and words added to the message."""

    NO = "no", "nothing was stored"
    ASK_AGAIN = "unknown", "it may have been stored: send it again with its Idempotency-Key, which stores it once"
    LOOK = "unknown", "it may have been done: check before you send it again"


def problem_from(error: Exception, stored: Stored | None = None) -> Response:
    """An error as a problem document (RFC 9457), plus the original's members. Logs unexpected errors without text."""
    status = status_of(error)
    fields = problem_fields(error)
    if stored is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        kept = isinstance(error, Backlogged | VaultBusy)
        fields["stored"], words = Stored.NO.value if kept else stored.value
        if not kept:
            fields["message"] = f"{fields['message']}; {words}"
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("api.request_failed", error=type(error).__name__, where=error_places(error))
    body = {
        **fields,
        "type": f"urn:openbrain:problem:{fields['error']}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": fields["message"],
    }
    return Response(status, orjson.dumps(body), PROBLEM, _headers(error))


def status_of(error: Exception) -> int:
    """The HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)


def _headers(error: Exception) -> Mapping[str, str]:
    match error:
        case Unauthorised():
            return {"www-authenticate": "Bearer"}
        case RateLimited() | Backlogged() | VaultBusy():
            return {"retry-after": str(_seconds(error))}
        case TryLater():
            return {"retry-after": "1"}
        case Refused():
            return error.headers
    return {}


def _seconds(error: RateLimited | Backlogged | VaultBusy) -> int:
    return max(1, math.ceil(error.retry_after_s))
