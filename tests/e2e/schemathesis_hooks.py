"""What Schemathesis can't know by itself: how records stand in lines."""

from typing import Any

import orjson
import schemathesis


@schemathesis.serializer("application/x-ndjson")
def records(_context: Any, value: Any) -> bytes:
    """One JSON value a line; text as it is."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode(errors="replace")
    lines = value if isinstance(value, list) else [value]
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)
