"""Characters not allowed in incoming text: the control characters C0 and C1, and unpaired surrogates."""

import re
from collections.abc import Callable
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_C1 = re.compile(r"[\x80-\x9f]")
_CONTROL_OR_BREAK = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


# A text is printable without these characters, which is faster to find out.


def plain_text(value: str) -> str:
    """Return the text if it has no control characters; else raise `ValueError`."""
    if not value.isprintable() and _CONTROL.search(value):
        raise ValueError("must not hold control characters other than tab and line breaks")
    return value


def plain_line(value: str) -> str:
    """Like `plain_text`, but on one line."""
    if not value.isprintable() and _CONTROL_OR_BREAK.search(value):
        raise ValueError("must not hold control characters or line breaks")
    return value


def plain_json(value: Any) -> Any:
    """JSON whose keys and strings satisfy `plain_text`."""
    cleaned_json(value, plain_text)
    return value


def cleaned(text: str) -> str:
    """Remove characters that are not allowed. For text whose author isn't there to correct it."""
    return _CONTROL.sub("", text)


def escaped(text: str) -> str:
    """Escape characters that are not allowed, such as \\u001b. For text that must be accepted and keep every
    character."""
    return _CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def cleaned_line(text: str) -> str:
    """Like `cleaned`, but on one line."""
    return _CONTROL_OR_BREAK.sub(" ", text).strip()


def without_c1(text: str) -> str:
    """Text as earlier versions accepted it: only C1 control characters are removed."""
    return _C1.sub("", text)


def cleaned_json(value: Any, clean: Callable[[str], str] = cleaned) -> Any:
    """JSON with all keys and strings cleaned, or otherwise transformed by `clean`."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): cleaned_json(part, clean) for key, part in value.items()}
        case list() | tuple():
            return [cleaned_json(part, clean) for part in value]
    return value
