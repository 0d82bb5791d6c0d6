"""Search cursors: opaque, valid only for their own query, and made only of what the caller was shown."""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Literal

import orjson

from openbrain.domain.errors import Invalid
from openbrain.domain.ids import is_uuid
from openbrain.ports.index import Place

Source = Literal["text", "truth"]
_RANK = 2**53
_SCORE = 1e30
_DIGEST = 9


@dataclass(frozen=True, slots=True)
class Cursor:
    """The source of the order, the place of the last memory shown, and the search's best score, which scales others."""

    source: Source
    place: Place
    best: float


def query_seal(*parts: object) -> str:
    """A digest that identifies one viewer's query."""
    return base64.urlsafe_b64encode(hashlib.blake2b(repr(parts).encode(), digest_size=_DIGEST).digest()).decode()


def written(cursor: Cursor, seal: str) -> str:
    """Encode a cursor for the caller."""
    place = cursor.place
    raw = orjson.dumps([seal, cursor.source, place.score, place.memory_id, place.rank, cursor.best])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def read(text: str, seal: str) -> Cursor:
    """Decode a cursor. Raise `Invalid` if it is not one of this query."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        sealed, source, score, memory_id, rank, best = orjson.loads(raw)
    except (binascii.Error, orjson.JSONDecodeError, TypeError, ValueError):
        raise _foreign() from None
    numbers = _number(score) and _number(best) and type(rank) is int and 0 <= rank <= _RANK
    known = source in ("text", "truth") and isinstance(memory_id, str) and is_uuid(memory_id)
    if sealed != seal or not numbers or not known:
        raise _foreign()
    return Cursor(source, Place(score, memory_id, rank), best)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and 0 < value < _SCORE


def _foreign() -> Invalid:
    return Invalid("cursor", "is not a next_cursor of this query: repeat the query unchanged, or omit the cursor")
