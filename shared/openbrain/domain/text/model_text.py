"""Stored text as it is put before a model: marks that only chat templates write are escaped."""

import re
from typing import Final

from openbrain.domain.text.displayed import plain

_ROLES: Final = "system|assistant|user|human|developer|tool|function|instructions?"
TEMPLATE_MARK: Final = re.compile(
    r"<(?=\|[A-Za-z_]{2,40}\|>)|<(?=</?SYS>)|<(?=(?:start|end)_of_turn>)"
    rf"|<(?=/?(?:{_ROLES})(?:[-_][a-z_-]{{1,30}})?[\s/>])|\[(?=/?INST\])",
    re.IGNORECASE,
)
"""What begins a mark of a chat template, or a tag by which clients tell a model who speaks."""


def model_text(text: str) -> str:
    """The text with what nobody sees, and what begins a mark of a chat template, as escapes (`\\x3c` for `<`)."""
    return TEMPLATE_MARK.sub(lambda found: f"\\x{ord(found[0]):02x}", plain(text))
