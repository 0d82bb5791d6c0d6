"""Converts refused requests to errors of `openbrain.domain.errors`."""

from collections.abc import Mapping
from typing import Any

import httpx
from pydantic_core import from_json

from openbrain.domain.errors import (
    Backlogged,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    OpenBrainError,
    Outdated,
    QuotaExceeded,
    RateLimited,
    ServerFailed,
    SetupError,
    TryLater,
    Unauthorised,
)


def refusal(status: int, raw: bytes) -> OpenBrainError:
    """Return the error for a status and a response body."""
    problem = _problem(raw)
    message = str(problem.get("message") or f"the server answered {status}")
    match status:
        case 401:
            return Unauthorised(message)
        case 403:
            return Forbidden(message)
        case 404:
            return NotFound(message)
        case 409:
            return Conflict(message, head=problem.get("head"))
        case 412:
            return Outdated(message)
        case 422 if problem.get("error") == QuotaExceeded.code:
            return QuotaExceeded(
                str(problem.get("field") or ""), int(problem.get("limit") or 0), int(problem.get("used") or 0)
            )
        case 429 if isinstance(rate_limit := problem.get("rate_limit"), dict):
            limited = RateLimited(int(rate_limit.get("limit") or 0), float(rate_limit.get("retry_after") or 1))
            limited.args = (message,)  # of the key, or of the address
            return limited
        case 503 if problem.get("error") == Backlogged.code:
            return Backlogged(message.partition(": wait")[0])
        case 408 | 429:
            return TryLater(message)
        case 500:
            return ServerFailed(message)
        case _ if status >= 500:
            return TryLater(message)
        case _ if 300 <= status < 400:
            return SetupError(f"the server answered {status}, which leads elsewhere: give the URL that it leads to")
    field = str(problem.get("field") or "")
    return Invalid(field, message.removeprefix(f"{field}: ") if field else message)


def nothing_stored(raw: bytes) -> bool:
    """True if the body of a 503 says that nothing was stored."""
    problem = _problem(raw)
    return problem.get("error") == Backlogged.code or problem.get("stored") == "no"


def _problem(raw: bytes) -> Mapping[str, Any]:
    try:
        problem = from_json(raw)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def unreachable(url: str, error: httpx.TransportError) -> TryLater:
    """Return the error for a server that did not answer."""
    if isinstance(error, httpx.TimeoutException):
        return TryLater(f"{url} did not answer in time: try again, or look at its /v1/health")
    if isinstance(error, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError):
        return TryLater(f"the connection to {url} broke off before its answer was there: it may have been done")
    return TryLater(f"can't reach {url}: start it with `openbrain up`, or check the URL")
