"""Safe display of stored text: it can't move a cursor, reverse a line, hide, or open a turn of a chat model."""

import re
from collections.abc import Callable
from typing import Final

from openbrain.domain.text.unicode_ranges import (
    BLANK,
    CONTROL,
    DEFAULT_IGNORABLE,
    EMOJI,
    FORMAT,
    character_class,
    coarse_class,
)

_TABLES = (CONTROL, DEFAULT_IGNORABLE, FORMAT, BLANK)
_UNSEEN = re.compile(f"[{character_class(*_TABLES)}]")
_PERHAPS_UNSEEN = re.compile(f"[{coarse_class(*_TABLES)}]")
_ROLES: Final = "system|assistant|user|human|developer|tool|function|instructions?"
TEMPLATE_MARK: Final = re.compile(
    r"<(?=\|[A-Za-z_]{2,40}\|>)|<(?=</?SYS>)|<(?=(?:start|end)_of_turn>)"
    rf"|<(?=/?(?:{_ROLES})(?:[-_][a-z_-]{{1,30}})?[\s/>])|\[(?=/?INST\])",
    re.IGNORECASE,
)
"""The beginning of a chat template's marker, or of a tag with which clients tell a model who speaks."""
_PICTURE = "\ufe0f"
_AS_PICTURE = re.compile(f"[{character_class(EMOJI)}]{_PICTURE}|[0-9#*]{_PICTURE}(?=\u20e3)")
"""An emoji or keycap with one variation selector that marks it as a picture."""


def plain(text: str) -> str:
    """Return the text with terminal control characters and invisible characters escaped."""
    return escaped(text, _escape)


def model_text(text: str) -> str:
    """Return the text with invisible characters and the beginnings of chat template markers escaped (`\\x3c` for
    `<`)."""
    return TEMPLATE_MARK.sub(lambda match: f"\\x{ord(match[0]):02x}", plain(text))


def model_line(text: str) -> str:
    """Like `model_text`, without line ends."""
    return model_text(" ".join(text.split()))


def one_line(text: str) -> str:
    """Like `plain`, without line ends."""
    return plain(" ".join(text.split()))


def escaped(text: str, escape: Callable[[str], str]) -> str:
    """Like `plain`, with another form of escape."""

    def shown(match: re.Match[str]) -> str:
        character, before = match[0], max(0, match.start() - 1)
        if character == _PICTURE and _AS_PICTURE.match(text, before):
            return character
        return escape(character) if _UNSEEN.match(character) else character

    return _PERHAPS_UNSEEN.sub(shown, text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
