"""Splits a text into overlapping passages with a header, for an index. If a long text were indexed only as a whole, the
part that answers a question would be outweighed by the rest. Independent of any model."""

import re
from datetime import date
from functools import lru_cache
from math import ceil

from openbrain.domain.memory import DAY, Memory
from openbrain.domain.text.unicode_ranges import IDEOGRAPH, character_class

WORDS = 100
"""Passage length: about 130 tokens, which measured better than 180 words and more."""
OVERLAP = 30
"""Minimum overlap in words, so that each sentence is complete in one passage."""

_IDEOGRAPH = character_class(IDEOGRAPH)
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+")
_SPACED = bytes(code if code < 128 and _WORD.match(chr(code)) else ord(" ") for code in range(256))

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = date(1970, 1, 1).toordinal()


def passages(text: str) -> tuple[str, ...]:
    """Return evenly spread passages that begin and end at words; none if the text fits into one."""
    # Most texts are short: ASCII words are counted without examining each.
    if len(text) < WORDS or (text.isascii() and len(text.encode().translate(_SPACED).split()) <= WORDS):
        return ()
    words = [match.span() for match in _WORD.finditer(text)]
    if len(words) <= WORDS:
        return ()
    steps = ceil((len(words) - WORDS) / (WORDS - OVERLAP))
    starts = [place * (len(words) - WORDS) // steps for place in range(steps + 1)]
    return tuple(text[words[start][0] : words[start + WORDS - 1][1]] for start in starts)


def header(memory: Memory) -> str:
    """A header such as `8 May 2023 Monday Caroline:`; only the date without a speaker. In UTC and English. Changing it
    requires a new SPLITTER_VERSION of the models and a new builder of the text indexes."""
    day = _day(memory.occurred_at // DAY)
    return f"{day} {memory.speaker}:" if memory.speaker else day


@lru_cache(maxsize=256)
def _day(number: int) -> str:
    day = date.fromordinal(_EPOCH + number)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year} {_WEEKDAYS[day.weekday()]}"
