"""The line before a text that is embedded or indexed: when it happened and who spoke."""

from functools import lru_cache

from openbrain.domain.memory import DAY, Memory
from openbrain.domain.times import to_iso


def header(memory: Memory) -> str:
    """As in `2023-05-08 Caroline:`; the date alone without a speaker."""
    day = _day(memory.occurred_at // DAY)
    return f"{day} {memory.speaker}:" if memory.speaker else day


@lru_cache(maxsize=256)
def _day(number: int) -> str:
    return to_iso(number * DAY)[:10]
