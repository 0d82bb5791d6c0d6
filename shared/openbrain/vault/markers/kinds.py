"""The marks of a vault or a session that are memories, and their types. Signals are not among them: they end."""

from collections.abc import Mapping
from typing import Final

from openbrain.domain.memory import MemoryType

MEMORY_TYPES: Final[Mapping[str, MemoryType]] = {
    "lesson": MemoryType.PATTERN,
    "decision": MemoryType.DECISION,
    "milestone": MemoryType.OBSERVATION,
}
CONFIDENCE: Final = 0.8
"""Of what an agent marked."""
