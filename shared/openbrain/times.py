"""Microseconds since 1970 (UTC) inside, ISO-8601 outside."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


# One batch tells one time again and again.
@lru_cache(maxsize=256)
def to_iso(at: int) -> str:
    """ISO-8601 in UTC with microseconds, ending in Z."""
    return f"{(_EPOCH + timedelta(microseconds=at)).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def from_datetime(at: datetime) -> int:
    """A moment with its zone as microseconds. A naive time is refused by the surfaces before it comes here."""
    return (at - _EPOCH) // _MICROSECOND
