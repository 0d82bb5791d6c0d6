"""The line before a text that is embedded or indexed: when it happened and who spoke."""

from openbrain.memory import Memory
from openbrain.times import to_iso


def header(memory: Memory) -> str:
    """As in `2023-05-08 Caroline:`; the date alone without a speaker."""
    day = to_iso(memory.occurred_at)[:10]
    return f"{day} {memory.speaker}:" if memory.speaker else day
