"""Times: microseconds since 1970 (UTC) internally, ISO-8601 externally."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


# A batch formats the same time repeatedly.
@lru_cache(maxsize=256)
def to_iso(at: int) -> str:
    """ISO-8601 in UTC with microseconds, ending in Z."""
    return f"{to_datetime(at).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


# So do the events of a batch.
@lru_cache(maxsize=256)
def from_iso(text: str) -> int | None:
    """Parse a date or time written by somebody; without a zone it is UTC. Return None if invalid or outside the years 1
    to 9999."""
    try:
        at = datetime.fromisoformat(text.strip())
        return from_datetime((at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def to_datetime(at: int) -> datetime:
    """As a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=at)


def from_datetime(at: datetime) -> int:
    """A datetime with a zone as microseconds. Interfaces reject naive times earlier."""
    return (at - _EPOCH) // _MICROSECOND
