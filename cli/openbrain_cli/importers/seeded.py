"""Tags and confidence of a section that `seed-memory` imports."""

import re
from dataclasses import replace

from openbrain.domain import limits
from openbrain_cli.importers.found_memory import FoundMemory

CONFIDENCE = 0.8
MOST_TAGS = 10
_QUOTED = re.compile(r"`([a-z][a-z0-9_-]+)`")


def seeded(memory: FoundMemory) -> FoundMemory:
    """The section, with its words in backticks as tags."""
    quoted = [word for word in _QUOTED.findall(memory.content)[:MOST_TAGS] if len(word) <= limits.TAG_CHARS]
    return replace(memory, confidence=CONFIDENCE, tags=tuple(dict.fromkeys([*quoted, *memory.tags])))
