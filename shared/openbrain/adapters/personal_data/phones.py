"""Finds phone numbers with phonenumbers, the Python port of Google's libphonenumber."""

import re
from collections.abc import Iterator

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber

_INTERNATIONAL = re.compile(r"(?<![\w+.])\+[1-9][\d ().\-/]{5,22}\d(?!\w)")
_AMERICAN = re.compile(r"(?<![\w+./-])(?:1[-. ])?(?:\(\d{3}\) ?|\d{3}(?P<between>[-.]))\d{3}[-.]\d{4}(?![\w-]|\.\d)")
_NAMED = re.compile(
    r"(?<![^\W_])(?:tele)?(?:phone|fon|mobile|cell|tel|fax|handy|whatsapp|rufnummer|teléfono|téléphone|telefono)"
    r"(?:[ _-]?(?:number|nummer|no|nr))?(?![^\W_])"
    r"""["']?(?:\s{0,3}(?:[:=]|is|ist|no\.|nr\.)){0,2}\s{0,3}["']?(?P<value>\(?\d[\d ()./-]{5,20}\d)(?![\w])""",
    re.IGNORECASE,
)
_PART = re.compile(r"[ ().\-/]+")
_DIGITS = (7, 15)
_SHORTEST = 9
"""Minimum digits with the country code: a shorter number may be a difference."""


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield their start and end. A number without country code counts in North American format or after a word like
    `phone`."""
    for match in _INTERNATIONAL.finditer(text):
        if length := _length(match[0]):
            yield match.start(), match.start() + length
    for match in _AMERICAN.finditer(text):
        if (number := _parsed(match[0], "US")) is not None and phonenumbers.is_valid_number(number):
            yield match.span()
    for match in _NAMED.finditer(text):
        digits = sum(map(str.isdigit, match["value"]))
        if _DIGITS[0] <= digits <= _DIGITS[1]:
            yield match.span("value")


def _length(value: str) -> int:
    """Return the length of the longest part, up to a separator, that can be a phone number; 0 if none can."""
    ends = [len(value), *(item.start() for item in reversed([*_PART.finditer(value)]))]
    return next((end for end in ends if _can_be(value[:end])), 0)


def _can_be(value: str) -> bool:
    """Check country code and length only, not assigned ranges: those change, and ranges for films are never
    assigned."""
    return (
        sum(map(str.isdigit, value)) >= _SHORTEST
        and (number := _parsed(value, None)) is not None
        and phonenumbers.is_possible_number(number)
    )


def _parsed(value: str, region: str | None) -> PhoneNumber | None:
    try:
        return phonenumbers.parse(value, region)
    except NumberParseException:
        return None
