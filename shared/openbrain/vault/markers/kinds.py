"""Marker types of a vault or session that become memories, with the memory types. Signals do not: they get resolved."""

from collections.abc import Mapping
from typing import Final

from openbrain.domain.memory import MemoryType

MEMORY_TYPES: Final[Mapping[str, MemoryType]] = {
    "lesson": MemoryType.PATTERN,
    "decision": MemoryType.DECISION,
    "milestone": MemoryType.OBSERVATION,
}
CONFIDENCE: Final = 0.8
"""Confidence of a memory that an agent marked."""
