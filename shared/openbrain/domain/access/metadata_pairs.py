"""Filterable metadata of a memory: its plain values, as `key=value`.

A pair is made of a member of the outermost object whose name is a METADATA_KEY and whose value is a text, a whole
number of 64 bits, true or false. All else is kept and shown, but not asked for.
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
    """The pairs of a memory; longer values than METADATA_VALUE_CHARS make none."""
    pairs = (pair(key, value) for key, value in metadata.items())
    return tuple(item for item in pairs if item)


def pair(key: str, value: object) -> str:
    """`key=value`, the value as JSON has it but without quotation marks; '' where a filter can't ask for it."""
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
    """Key and value of a pair; two empty ones for what is none."""
    key, equals, value = text.partition("=")
    return (key, value) if equals and _KEY.fullmatch(key) and len(value) <= METADATA_VALUE_CHARS else ("", "")
