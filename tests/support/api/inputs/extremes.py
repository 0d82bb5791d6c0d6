"""Extreme values of every JSON type, and the places of a schema where they can occur."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

Place = tuple[str | int, ...]

NUMBERS = (
    *(
        "0",
        "-0",
        "-1",
        "1",
        "0.5",
        "-0.0",
        "1e0",
        "1E+2",
        "5e-324",
        "1.7976931348623157e308",
        "1e400",
        "-1e400",
        "1e-400",
    ),
    *(str(sign * 2**bits + near) for bits in (15, 31, 32, 52, 53, 63, 64) for near in (-1, 0, 1) for sign in (1, -1)),
    *("NaN", "Infinity", "-Infinity", "9" * 400, "-" + "9" * 5000, "0." + "1" * 400, "253402300799", "253402300800"),
)
MOMENTS = (
    *("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00-23:59", "0000-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59.999999-23:59", "9999-12-31T23:59:59.999999Z", "9998-12-31T23:59:59.999999Z"),
    *("1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z", "2026-06-30T23:59:60Z", "2026-02-29T24:00:00Z"),
    *("2026-01-01T00:00:00", "2026-01-01T00:00:00+24:00", "-2026-01-01T00:00:00Z", "10000-01-01T00:00:00Z"),
    *("2255-06-05T23:47:34.740991Z", "2255-06-06T00:00:00Z", "1700000000", "1e400"),
)
IDS = (
    *("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    *("FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF", "01990000-0000-7000-8000-00000000000g"),
    *("0-0", "0-1", f"{2**64 - 1}-{2**64 - 1}", "99999999999999999999-99999999999999999999", "1-18446744073709551616"),
    *("999999999999999-18446744073709551615", "999999999999999-99999999999999999999"),
    *(f"memory.stored.embedder.{at}" for at in ("0-0", f"{2**64 - 1}-{2**64 - 1}", "99999999999999999999-0")),
    *(f"{at}.ffffffff-ffff-ffff-ffff-ffffffffffff" for at in ("0", "999999999999999999", "-1", "9" * 19)),
    *("0", "999999999999999999", "0" * 16, "f" * 16, "\u0663\u0663", "\uff10"),
)
TEXTS = (
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "\x1b[2J",
        "\x85",
        "a\nb",
        "\r",
        "NaN",
        "null",
        "*",
        "%",
        "_",
        "\\",
        "'",
        '"',
        '"" OR ""',
        "(",
    ),
    *(
        "\u200b",
        "\u2028",
        "\ufeff",
        "\ufdfa" * 200,
        "\U0010ffff",
        "\ufffe",
        "e\u0301" * 60,
        "🏴" * 90,
        "\u202e",
        "\u017f",
        "\u0130",
    ),
    *("../../etc/passwd", "/", ".", "a/../b", "con", ".hidden", "x.md", "vault/x", "%00", "%ff", "{id}"),
    *(
        "http://[",
        "https://user:pw@127.0.0.1:99999/",
        "https://[::ffff:127.0.0.1]/",
        "https://xn--/",
        "https://a" * 300,
    ),
    *("x" * 100, "x" * 255, "x" * 2000, "x" * 50_000, "word " * 900, "x" * 60_000),
    *(
        "default",
        "system",
        "memory.stored",
        "signal.raised",
        "ingest",
        "embedder",
        "text",
        "vector",
        "fact",
        "critical",
    ),
)
_STRINGS = (*MOMENTS, *IDS, *TEXTS)
OTHERS = (
    *("null", "true", "false", "[]", "{}", "[null]", "[[]]", "[{}]", '[""]', '{"":""}', '{"a":null}', '{"\\u0000":1}'),
    *(r'"\ud800"', r'"\udc00\ud800"', r'{"\ud800":1}', r'["\ud800"]', '{"a":1,"a":2}', '{"a":1e400}', '{"a":NaN}'),
    *("[" * deep + "]" * deep for deep in (60, 130, 260, 5000)),
    *('{"a":' * deep + "1" + "}" * deep for deep in (60, 130, 260, 5000)),
    *('{"a":' + "[" * deep + "]" * deep + "}" for deep in (60, 130, 250)),
    *("[" + ",".join(["1"] * 600) + "]", "[" + ",".join(['"x"'] * 60) + "]"),
    *('{"a":' + number + "}" for number in ("9" * 400, str(2**64), str(-(2**63) - 1))),
)
RAW: Sequence[bytes] = tuple(
    text.encode() for text in (*NUMBERS, *OTHERS, *(json.dumps(each, ensure_ascii=True) for each in _STRINGS))
)
"""As written in a document, including forms that no JSON writer produces."""
PLAIN: Sequence[str] = tuple(each for each in (*NUMBERS, *_STRINGS, "true", "false", "[]", "{}") if len(each) <= 3000)
"""As written in a query string or a path."""

_SIGN = "@here@"
_WHITE = tuple(json.dumps(each).encode() for each in (" ", "\u2028"))


def around(usual: Mapping[str, Any], place: Place) -> tuple[bytes, bytes]:
    """Return the document before and after the value at this place; create the objects and lists on the path to it."""
    made = json.loads(json.dumps(usual))
    at: Any = made
    for step, following in zip(place, (*place[1:], None), strict=True):
        inner: Any = _SIGN if following is None else [] if isinstance(following, int) else {}
        if isinstance(step, int):
            at[:1] = [at[0] if at and following is not None and isinstance(at[0], type(inner)) else inner]
        elif following is None or not isinstance(at.get(step), type(inner)):
            at[step] = inner
        at = at[step]
    before, _, behind = json.dumps(made).encode().partition(b'"%s"' % _SIGN.encode())
    return before, behind


def drawn(chance: random.Random, taken: Sequence[tuple[bytes, T]], most: int) -> list[T]:
    """Return up to `most` random items of `taken`, and always those with the least and the greatest number and with
    white space. `taken` has pairs of the raw value and the item."""
    numbers = sorted((number, place) for place, (raw, _) in enumerate(taken) if (number := _number(raw)) is not None)
    ends = {place for _, place in (*numbers[:1], *numbers[-1:])}
    ends.update(place for place, (raw, _) in enumerate(taken) if raw in _WHITE)
    rest = [place for place in range(len(taken)) if place not in ends]
    return [taken[place][1] for place in (*ends, *chance.sample(rest, min(most, len(rest))))]


def _number(raw: bytes) -> float | None:
    try:
        return float(raw) if len(raw) < 400 else None
    except ValueError:
        return None


def places(schema: Mapping[str, Any], schemas: Mapping[str, Any], here: Place = (), depth: int = 4) -> Iterator[Place]:
    """Yield every place of a JSON schema: members, items, and the places inside them. `schemas`: by the last part of a
    $ref."""
    if here:
        yield here
    if depth == 0:
        return
    found: dict[Place, None] = {}
    for one in _alternatives(schema, schemas):
        for name, part in one.get("properties", {}).items():
            found.update(dict.fromkeys(places(part, schemas, (*here, name), depth - 1)))
        if isinstance(part := one.get("items"), dict):
            found.update(dict.fromkeys(places(part, schemas, (*here, 0), depth - 1)))
        if one.get("additionalProperties"):
            found[*here, "any"] = None
    yield from found


def _alternatives(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in schema:
        yield from _alternatives(schemas[schema["$ref"].rpartition("/")[2]], schemas)
        return
    yield schema
    for kind in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(kind, ()):
            yield from _alternatives(one, schemas)
