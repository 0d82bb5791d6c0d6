"""Remembered text, shown: nothing in it moves a cursor, turns a line around or hides."""

import re

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """Text in which what a terminal would obey, or nobody would see, stands as an escape."""
    return UNSEEN.sub(lambda found: _escape(found[0]), text)


def one_line(text: str) -> str:
    """The same without line ends."""
    return plain(" ".join(text.split()))


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
