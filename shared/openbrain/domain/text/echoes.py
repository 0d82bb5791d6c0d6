"""Echoes: recall results that are sent back. They are stored already and must not be stored again.

Answers put stored text between markers with a number that is new in each answer (`<<memory 1f… 1>>` to `<<end 1f…
1>>`), under a notice. A submitted text with such a block quotes an answer.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from typing import Final

_OPENING: Final = re.compile(r"<<[a-z]{1,20} ([0-9a-f]{12}(?: \d{1,4})?)>>")
_CLOSING: Final = re.compile(r"<<end ([0-9a-f]{12}(?: \d{1,4})?)>>")
_NOTICE: Final = re.compile("From OpenBrain|What follows was stored by agents")


def without_echoes(text: str) -> str:
    """Remove such blocks and their notices from the text."""
    closings: defaultdict[str, list[re.Match[str]]] = defaultdict(list)
    for closing in _CLOSING.finditer(text):
        closings[closing[1]].append(closing)
    if not closings:
        return text
    kept: list[str] = []
    at = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < at:
            continue
        ours = closings.get(opening[1], ())
        later = bisect_left(ours, opening.end(), key=re.Match.start)
        if later == len(ours):
            continue
        kept.append(_without_notice(text[at : opening.start()]))
        at = ours[later].end()
    kept.append(text[at:])
    return "".join(kept) if at else text


def _without_notice(text: str) -> str:
    """Remove the notice, if the last line holds one."""
    notice = _NOTICE.search(text, text.rstrip().rfind("\n") + 1)
    return text if notice is None else text[: notice.start()]
