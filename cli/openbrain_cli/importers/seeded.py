"""What `seed-memory` makes of a section: words in backticks are tags, and the confidence is the original's."""

import re
from dataclasses import replace

from openbrain.domain import limits
from openbrain_cli.importers.found_memory import FoundMemory

CONFIDENCE = 0.8
MOST_TAGS = 10
_QUOTED = re.compile(r"`([a-z][a-z0-9_-]+)`")


def seeded(found: FoundMemory) -> FoundMemory:
    """Before its text is put away."""
    quoted = [word for word in _QUOTED.findall(found.content)[:MOST_TAGS] if len(word) <= limits.TAG_CHARS]
    return replace(found, confidence=CONFIDENCE, tags=tuple(dict.fromkeys([*quoted, *found.tags])))
