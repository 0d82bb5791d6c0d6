"""Remembered text, shown: nothing in it moves a cursor, turns a line around, hides, or opens a turn before a model."""

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
"""The beginning of a mark of a chat template, or of a tag by which clients tell a model who speaks."""
_PICTURE = "\ufe0f"
_AS_PICTURE = re.compile(f"[{character_class(EMOJI)}]{_PICTURE}|[0-9#*]{_PICTURE}(?=\u20e3)")
"""An emoji or a key with what says only that it is a picture, once."""


def plain(text: str) -> str:
    """Text in which what a terminal would obey, or nobody would see, stands as an escape."""
    return escaped(text, _escape)


def model_text(text: str) -> str:
    """The text with what nobody sees, and what begins a mark of a chat template, as escapes (`\\x3c` for `<`)."""
    return TEMPLATE_MARK.sub(lambda match: f"\\x{ord(match[0]):02x}", plain(text))


def one_line(text: str) -> str:
    """`plain` without line ends."""
    return plain(" ".join(text.split()))


def escaped(text: str, escape: Callable[[str], str]) -> str:
    """`plain` with escapes of another form."""

    def shown(match: re.Match[str]) -> str:
        character, before = match[0], max(0, match.start() - 1)
        if character == _PICTURE and _AS_PICTURE.match(text, before):
            return character
        return escape(character) if _UNSEEN.match(character) else character

    return _PERHAPS_UNSEEN.sub(shown, text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
