"""Times that a question names ("last week", "in May 2023", "yesterday"), and how near a memory is to them.

A pattern finds the words and dateparser interprets them: alone it takes too much for a date ("may", "the sun").
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from openbrain.domain.memory import DAY
from openbrain.domain.times import from_datetime, to_datetime

READ_CHARS = 500
"""Longest question that is searched for times: a longer one is a text, whose times are not a question."""
MOST = 4
FADES = 7 * DAY
"""Distance up to which a memory still gains by a time, or the length of the time span if that is longer: people write
about an event for some days."""

_NUMBER = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:19|20)\d\d(?![\d-])"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?(?!\d)"
_TIME_WORDS = re.compile(
    rf"""\b(?:
      \d{{4}}-\d\d-\d\d(?!\d)
    | (?:the\ )?day\ before\ yesterday | yesterday | today | last\ night | this\ morning
    | {_NUMBER}\ (?:hour|day|week|month|year)s?\ ago
    | (?:last|this)\ (?:week|month|year|{_WEEKDAY})
    | on\ {_WEEKDAY}
    | {_DAY}\ (?:of\ )?{_MONTH}(?:,?\ {_YEAR})?
    | {_MONTH}\ {_DAY}(?:,?\ {_YEAR})?
    | {_MONTH},?\ (?:of\ )?{_YEAR}
    | (?:in|during)\ {_MONTH}(?!\.?,?\ (?:of\ )?{_YEAR})
    | (?:in|during|of)\ {_YEAR}
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SPACES = re.compile(r"\s+")
_BEFORE = re.compile(r"^(?:in|during|of|on|the)\ ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Time span meant by words of a question: microseconds, end exclusive."""

    words: str
    since: int
    until: int

    def nearness(self, at: int) -> float:
        """1 inside, falling to 0 at a distance of `FADES` or the span's length, whichever is longer."""
        away = max(self.since - at, at - self.until, 0)
        return max(0.0, 1 - away / max(FADES, self.until - self.since))


def nearness(spans: Sequence[TimeSpan], at: int) -> float:
    """The highest nearness to any of the spans; 0 without spans."""
    return max((span.nearness(at) for span in spans), default=0.0)


async def read_times(query: str, now: int) -> tuple[TimeSpan, ...]:
    """The first few times that a question names, relative to `now`, in UTC."""
    named = _SPACES.sub(" ", query) if len(query) <= READ_CHARS else ""
    words = list(dict.fromkeys(match.group() for match in _TIME_WORDS.finditer(named)))[:MOST]
    # The first call loads the library, which takes too long for the event loop.
    return await asyncio.to_thread(_read, words, now) if words else ()


def _read(words: Sequence[str], now: int) -> tuple[TimeSpan, ...]:
    spans = (_span(word, to_datetime(now)) for word in words)
    return tuple(span for span in spans if span is not None)


def _span(words: str, now: datetime) -> TimeSpan | None:
    try:
        date = _parser(now).get_date_data(_BEFORE.sub("", words))
        if date.date_obj is None:
            return None
        since, until = _period(date.date_obj.replace(hour=0, minute=0, second=0, microsecond=0), date.period)
    except (ValueError, OverflowError):  # outside the range of datetime
        return None
    return TimeSpan(words, from_datetime(since), from_datetime(until))


def _period(day: datetime, period: str) -> tuple[datetime, datetime]:
    """Begin and end of the day, week, month or year of a day."""
    if period == "week":
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    if period == "month":
        first = day.replace(day=1)
        return first, (first + timedelta(days=31)).replace(day=1)
    if period == "year":
        first = day.replace(month=1, day=1)
        return first, first.replace(year=first.year + 1)
    return day, day + timedelta(days=1)


def _parser(now: datetime) -> Any:
    from dateparser.date import DateDataParser  # type: ignore[import-untyped]

    settings = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": True,
        "PREFER_DATES_FROM": "past",
    }
    return DateDataParser(languages=["en"], settings=settings)
