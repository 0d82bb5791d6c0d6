"""The words before a text that is embedded or indexed: when it happened and who spoke."""

from datetime import date
from functools import lru_cache

from openbrain.domain.memory import DAY, Memory

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = date(1970, 1, 1).toordinal()


def header(memory: Memory) -> str:
    """A header like `8 May 2023 Monday Caroline:`; the date alone without a speaker. In UTC, and in English: a change
    of it is a new SPLITTER_VERSION of the models and a new builder of the text indexes."""
    day = _day(memory.occurred_at // DAY)
    return f"{day} {memory.speaker}:" if memory.speaker else day


@lru_cache(maxsize=256)
def _day(number: int) -> str:
    day = date.fromordinal(_EPOCH + number)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year} {_WEEKDAYS[day.weekday()]}"
