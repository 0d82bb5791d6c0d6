"""Microseconds since 1970 (UTC) inside, ISO-8601 outside."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


# One batch tells one time again and again.
@lru_cache(maxsize=256)
def to_iso(at: int) -> str:
    """ISO-8601 in UTC with microseconds, ending in Z."""
    return f"{to_datetime(at).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def from_iso(text: str) -> int | None:
    """Of a date or time that somebody wrote; without a zone it is UTC. None for anything else, and outside of the years
    1 to 9999."""
    try:
        at = datetime.fromisoformat(text.strip())
        return from_datetime((at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def to_datetime(at: int) -> datetime:
    """In UTC."""
    return _EPOCH + timedelta(microseconds=at)


def from_datetime(at: datetime) -> int:
    """A moment with its zone as microseconds. A naive time is refused by the surfaces before it comes here."""
    return (at - _EPOCH) // _MICROSECOND
