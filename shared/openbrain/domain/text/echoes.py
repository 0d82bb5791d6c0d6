"""Echoes: results of a recall that are sent back. They are stored already, and must not be stored again.

Answers show stored text between marks with a number that is new in each answer (`<<memory 1f… 1>>` to `<<end 1f… 1>>`),
under a notice. Whoever remembers a text with such a block in it quotes an answer.
"""

import re
from typing import Final

_OPENING: Final = re.compile(r"<<[a-z]{1,20} ([0-9a-f]{12}(?: \d{1,4})?)>>")
_NOTICE: Final = re.compile(r"(?:From OpenBrain|What follows was stored by agents)[^\n]*\s*\Z")


def without_echoes(text: str) -> str:
    """The text without the blocks of answers and their notices; the same where there is none."""
    if "<<end " not in text:
        return text
    kept: list[str] = []
    at = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < at:
            continue
        closing = f"<<end {opening[1]}>>"
        end = text.find(closing, opening.end())
        if end < 0:
            continue
        kept.append(_NOTICE.sub("", text[at : opening.start()]))
        at = end + len(closing)
    kept.append(text[at:])
    return "".join(kept) if at else text
