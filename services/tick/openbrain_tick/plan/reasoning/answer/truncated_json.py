"""JSON whose end is missing: what of it was whole."""

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_CLOSES = {"{": "}", "[": "]"}
_OUTSIDE = (["{"], ["{", "["])
"""Brackets that are open outside of items."""


def close_truncated(text: str) -> str:
    """The object that begins in the text, closed behind its last whole list or object, or the last whole item of a list
    of its own; '' where there is none. Of an item that was cut nothing is kept."""
    begin = text.find("{")
    if begin < 0:
        return ""
    depth: list[str] = []
    whole = ""
    for token in _TOKEN.finditer(text, begin):
        mark = token.group()
        if mark in _CLOSES:
            depth.append(mark)
        elif mark in _CLOSES.values():
            if not depth or _CLOSES[depth.pop()] != mark:
                break
            if depth in _OUTSIDE:
                whole = text[begin : token.end()] + "".join(_CLOSES[item] for item in reversed(depth))
            elif not depth:
                break
    return whole
