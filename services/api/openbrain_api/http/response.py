"""Responses: their JSON, their headers, and the problems that errors become."""

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
"""The first that an error is an instance of counts."""
_log = structlog.get_logger(__name__)


class Refused(NeverRetry):
    """A request that is refused before a handler sees it: the errors of HTTP itself."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class Response:
    """A status, finished bytes and their type."""

    status: int
    body: bytes
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: AsyncIterator[bytes] | None = None
    """The parts behind `body`, written as they come; where it fails, the answer ends without its end."""
    on_disconnect: Callable[[], None] | None = None
    """Of an answer that may stay silent for long: called when nobody reads it any more."""


Content = BaseModel | Mapping[str, object]
"""A handler's response: a model of the contract, or its members where building the model costs too much."""


def respond(
    content: Content, data: Content | None = None, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """The content at the top level, and in the envelope `data` that older clients read, where `data` may say less."""
    whole = to_json(content)
    envelope = whole if data is None else to_json(data)
    members = b"" if whole == b"{}" else whole[1:-1] + b","
    return Response(status, b'{%s"data":%s}' % (members, envelope), headers=headers or {})


def respond_page(page: BaseModel) -> Response:
    """A page of a list; `data` does not tell where it goes on."""
    return respond(page, page.model_dump(exclude_unset=True, exclude={"next_cursor", "next_after"}))


def plain(content: Content, *, status: int = 200) -> Response:
    """Without the envelope."""
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
    """Headers of an answer and of every answer. Nothing on the way keeps one that does not say so: it may hold secrets,
    memories, or who may what."""
    own = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    kept = [] if "cache-control" in response.headers else [(b"cache-control", b"no-store")]
    return [*extra_headers, *own, *kept]


def problem_fields(error: Exception) -> dict[str, object]:
    """`error`, `message`, and `field` or `head` where there is one. What is not ours to tell is not told."""
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
    """The outcome of a write that a 5xx reports: the member `stored` and the addition to the message."""

    NO = "no", "nothing was stored"
    ASK_AGAIN = "unknown", "it may have been stored: send it again with its Idempotency-Key, which stores it once"
    LOOK = "unknown", "it may have been done: look before you send it again"


def problem_from(error: Exception, stored: Stored | None = None) -> Response:
    """An error as RFC 9457 with the original's members extra_headers. Logs what was not foreseen, without its text."""
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
    """The HTTP status that an error is."""
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
