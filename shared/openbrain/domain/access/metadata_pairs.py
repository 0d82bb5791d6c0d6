"""Filterable metadata of a memory: its scalar values, as `key=value`.

A pair comes from a top-level member whose name is a METADATA_KEY and whose value is a string, a 64-bit integer or a
boolean. Other members are stored and shown but can't be filtered by.
"""

import re
from collections.abc import Mapping

from openbrain.domain.limits import METADATA_VALUE_CHARS

FIELD = "metadata_pairs"
"""The name of the field in conditions and index entries."""
METADATA_KEY = r"[A-Za-z0-9_.-]{1,64}"
_KEY = re.compile(METADATA_KEY)
_LONG = 2**63


def metadata_pairs(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """Return the pairs of a memory, without values longer than METADATA_VALUE_CHARS."""
    pairs = (pair(key, value) for key, value in metadata.items())
    return tuple(item for item in pairs if item)


def pair(key: str, value: object) -> str:
    """Return `key=value`, the value as in JSON but without quotation marks; '' if a filter can't use it."""
    match value:
        case True | False:
            text = "true" if value else "false"
        case str():
            text = value
        case int() if -_LONG <= value < _LONG:
            text = str(value)
        case _:
            return ""
    return f"{key}={text}" if len(text) <= METADATA_VALUE_CHARS and _KEY.fullmatch(key) else ""


def parts(text: str) -> tuple[str, str]:
    """Split a pair into key and value; both are empty if it is not a valid pair."""
    key, equals, value = text.partition("=")
    return (key, value) if equals and _KEY.fullmatch(key) and len(value) <= METADATA_VALUE_CHARS else ("", "")
