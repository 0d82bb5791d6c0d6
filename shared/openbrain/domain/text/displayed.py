"""Remembered text, shown: nothing in it moves a cursor, turns a line around or hides."""

import re
from collections.abc import Callable

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
_PICTURE = "\ufe0f"
_AS_PICTURE = re.compile(f"[{character_class(EMOJI)}]{_PICTURE}|[0-9#*]{_PICTURE}(?=\u20e3)")
"""An emoji or a key with what says only that it is a picture, once."""


def plain(text: str) -> str:
    """Text in which what a terminal would obey, or nobody would see, stands as an escape."""
    return escaped(text, _escape)


def one_line(text: str) -> str:
    """The same without line ends."""
    return plain(" ".join(text.split()))


def escaped(text: str, escape: Callable[[str], str]) -> str:
    """The same with escapes of another form."""

    def shown(match: re.Match[str]) -> str:
        character, before = match[0], max(0, match.start() - 1)
        if character == _PICTURE and _AS_PICTURE.match(text, before):
            return character
        return escape(character) if _UNSEEN.match(character) else character

    return _PERHAPS_UNSEEN.sub(shown, text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
