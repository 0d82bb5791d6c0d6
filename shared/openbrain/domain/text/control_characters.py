"""Characters that incoming text may not hold: the control characters C0 and C1, and halves of surrogate pairs."""

import re
from collections.abc import Callable
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_C1 = re.compile(r"[\x80-\x9f]")
_CONTROL_OR_BREAK = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def plain_text(value: str) -> str:
    """Text without what a terminal would obey; `ValueError` for other text."""
    if _CONTROL.search(value):
        raise ValueError("must not hold control characters other than tab and line breaks")
    return value


def plain_line(value: str) -> str:
    """`plain_text` on one line."""
    if _CONTROL_OR_BREAK.search(value):
        raise ValueError("must not hold control characters or line breaks")
    return value


def plain_json(value: Any) -> Any:
    """JSON whose keys and strings are such text."""
    cleaned_json(value, plain_text)
    return value


def cleaned(text: str) -> str:
    """Text of somebody who isn't there to be refused: what it may not hold is left out."""
    return _CONTROL.sub("", text)


def escaped(text: str) -> str:
    """Text that may not be refused, with nothing left out: what it may not hold is written as \\u001b."""
    return _CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def cleaned_line(text: str) -> str:
    """`cleaned` on one line."""
    return _CONTROL_OR_BREAK.sub(" ", text).strip()


def without_c1(text: str) -> str:
    """Text as earlier versions took it, without the control characters C1."""
    return _C1.sub("", text)


def cleaned_json(value: Any, clean: Callable[[str], str] = cleaned) -> Any:
    """JSON in which keys and strings are cleaned, or what else `clean` does to them."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): cleaned_json(part, clean) for key, part in value.items()}
        case list() | tuple():
            return [cleaned_json(part, clean) for part in value]
    return value
