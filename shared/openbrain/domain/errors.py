"""Errors. Their messages say what to do next.

Three branches control the stream layer: `TryLater` and `SetupError` do not count as an attempt, `NeverRetry` sends the
entry to the dead letters at once. Every other exception is a failed attempt.
"""

from collections.abc import Iterator
from types import TracebackType


class OpenBrainError(Exception):
    """Base of all errors of this project."""

    code = "service_error"


class TryLater(OpenBrainError):
    """A dependency is down or busy: wait, then do the same again."""


class IndexMissing(TryLater):
    """An index is missing. The housekeeper recreates it and starts to fill it from the database within seconds."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the index {name} is missing: a running housekeeper recreates and fills it; "
            "`openbrain verify` shows what is missing"
        )


class ModelChanged(TryLater):
    """The embedding model is not the one that made the vectors: its name now refers to other weights. Retrying helps
    only if someone restores the old ones."""

    code = "model_changed"


class ServerFailed(TryLater):
    """The server had an internal error with this request. Other requests may succeed."""


class Halted(TryLater):
    """A halt is open: whoever works for this workspace waits until it is resumed."""

    code = "halted"


class NeverRetry(OpenBrainError):
    """This input will always be refused."""


class Invalid(NeverRetry):
    """An input that violates a limit or a rule. Names the field."""

    code = "validation_error"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


class UnknownVersion(OpenBrainError):
    """An event version that this process doesn't know: a newer replica of its service must take it."""

    code = "unknown_version"


class NotFound(NeverRetry):
    """Unknown here. The message is the same for another tenant's id and for one that never existed."""

    code = "not_found"


class Conflict(NeverRetry):
    """The state has changed. `head` names the memory now at the end of the chain."""

    code = "conflict"

    def __init__(self, message: str, *, head: str | None = None) -> None:
        super().__init__(message)
        self.head = head


class Outdated(NeverRetry):
    """The memory has changed since the caller read it (`If-Match`): read it again."""

    code = "precondition_failed"


class QuotaExceeded(Invalid):
    """The workspace is full. `field` is the quota: max_memories (rows) or max_bytes (of content, UTF-8)."""

    code = "quota_exceeded"

    def __init__(self, field: str, limit: int, used: int) -> None:
        what = "memories" if field == "max_memories" else "bytes of content"
        super().__init__(
            field,
            f"this workspace may hold {limit} {what} and holds {used}: forget some, or ask an operator for more",
        )
        self.limit = limit
        self.used = used


class RateLimited(TryLater):
    """The key has used up its request limit."""

    code = "rate_limited"
    words = "this key may make {per_minute} requests a minute: wait {wait_s:.0f} s, then continue"
    least_wait_s = 0.0

    def __init__(self, per_minute: int, retry_after_s: float) -> None:
        wait_s = max(self.least_wait_s, retry_after_s)
        super().__init__(self.words.format(per_minute=per_minute, wait_s=wait_s))
        self.per_minute = per_minute
        self.retry_after_s = retry_after_s


class WrongKeys(RateLimited):
    """Too many wrong keys came from this address. Until the limit resets, only keys already known to be valid are
    accepted."""

    words = (
        "more than {per_minute} wrong keys a minute came from this address: wait {wait_s:.0f} s, then send a valid one"
    )
    least_wait_s = 1.0


class VisitsLimited(RateLimited):
    """Too many requests without a key came from this address."""

    words = (
        "this address may make {per_minute} requests a minute without a key: wait {wait_s:.0f} s, and cache the answers"
    )
    least_wait_s = 1.0


class Backlogged(TryLater):
    """Too many accepted writes wait to be processed; retry later. Nothing was stored."""

    code = "backlog_full"

    def __init__(self, why: str, retry_after_s: float = 5.0) -> None:
        super().__init__(f"{why}: wait {retry_after_s:.0f} s, then write again; reads still work")
        self.retry_after_s = retry_after_s


class Unauthorised(NeverRetry):
    """The key is missing, unknown, expired or revoked; the answer does not say which."""

    code = "unauthorised"


class Forbidden(NeverRetry):
    """The key is valid, but not for this action."""

    code = "forbidden"


class SetupError(OpenBrainError):
    """The settings, or what they name, can't work: says what to change."""

    code = "setup_error"


def error_kind(error: Exception) -> str:
    return type(error).__name__


def error_places(error: BaseException) -> list[str]:
    """File and line of each frame. A traceback without values, because an error's text may contain content."""
    return [f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}" for at in _frames(error)]


def error_text(error: Exception) -> str:
    """A text of the error that may be stored: our own message, never a foreign one, which may contain content."""
    if isinstance(error, OpenBrainError):
        return str(error)[:500]
    frames = list(_frames(error))
    if not frames:
        return "an unexpected error"
    code = frames[-1].tb_frame.f_code
    return f"an unexpected error in {code.co_qualname}, {code.co_filename.rpartition('/')[2]}:{frames[-1].tb_lineno}"


def _frames(error: BaseException) -> Iterator[TracebackType]:
    at = error.__traceback__
    while at is not None:
        yield at
        at = at.tb_next
