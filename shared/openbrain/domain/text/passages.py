"""Header and overlapping passages of a text, for an index. In a long text indexed whole, the part that a question is
about would be drowned by the rest. Independent of any model."""

import re
from datetime import date
from functools import lru_cache
from math import ceil

from openbrain.domain.memory import DAY, Memory

WORDS = 100
"""Of a passage: some 130 tokens, which measured better than 180 words and more."""
OVERLAP = 30
"""Words that neighbours share at least, so that a sentence stands whole in one of them."""

# Scripts written without spaces: each sign counts as a word, as in the text indexes.
_IDEOGRAPH = r"\u3005-\u3007\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+")
_SPACED = bytes(code if code < 128 and _WORD.match(chr(code)) else ord(" ") for code in range(256))

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = date(1970, 1, 1).toordinal()


def passages(text: str) -> tuple[str, ...]:
    """None where the text is one passage by itself. They begin and end with words and are spread evenly."""
    # Most texts are short: the words of an ASCII one are counted without a look at each.
    if len(text) < WORDS or (text.isascii() and len(text.encode().translate(_SPACED).split()) <= WORDS):
        return ()
    words = [match.span() for match in _WORD.finditer(text)]
    if len(words) <= WORDS:
        return ()
    steps = ceil((len(words) - WORDS) / (WORDS - OVERLAP))
    starts = [place * (len(words) - WORDS) // steps for place in range(steps + 1)]
    return tuple(text[words[start][0] : words[start + WORDS - 1][1]] for start in starts)


def header(memory: Memory) -> str:
    """A header like `8 May 2023 Monday Caroline:`; the date alone without a speaker. In UTC, and in English: a change
    of it is a new SPLITTER_VERSION of the models and a new builder of the text indexes."""
    day = _day(memory.occurred_at // DAY)
    return f"{day} {memory.speaker}:" if memory.speaker else day


@lru_cache(maxsize=256)
def _day(number: int) -> str:
    day = date.fromordinal(_EPOCH + number)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year} {_WEEKDAYS[day.weekday()]}"
