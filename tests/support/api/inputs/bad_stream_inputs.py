"""Invalid inputs of the routes for streams: (member, value, the field that the refusal names)."""

from typing import Any

from openbrain.domain import limits

Bad = tuple[str, Any, str]
LONG = "x" * 60_000

STREAM: list[Bad] = [
    ("stream", "memory stored", "stream"),
    ("stream", LONG, "stream"),
    ("stream", 5, "stream"),
    ("stream", "memory.unknown", "stream"),
]
GROUP: list[Bad] = [("group", "", "group"), ("group", "two words", "group"), ("group", LONG, "group")]
NOTE: list[Bad] = [("reason", "x" * (limits.REASON_CHARS + 1), "reason"), ("reason", 5, "reason")]
REPLAYED: list[Bad] = [
    *STREAM,
    *GROUP,
    ("stream", None, "stream"),
    ("stream", "memory.recalled", "stream"),
    ("group", "ingest", "group"),
    ("from", "yesterday", "from"),
    ("from", "2026-11-22T07:00:00", "from"),
    ("from", "1-2-3", "from"),
    ("to", 5, "to"),
    ("rate", 0, "rate"),
    ("rate", "5", "rate"),
    ("rate", 10**9, "rate"),
    ("dry_run", "no", "dry_run"),
    ("form", "a slip of the pen", "form"),
]
DEAD: list[Bad] = [
    *STREAM,
    *GROUP,
    ("error", "Two Words", "error"),
    ("since", "2026-01-01T00:00:00", "since"),
    ("until", 5, "until"),
    ("letters", ["memory.stored.embedder.1-0"], ""),
    ("letters", ["no id"], "letters"),
    ("letters", ["memory.stored.embedder.1-0"] * 501, "letters"),
    ("all", True, ""),
    ("rate", 0, "rate"),
    ("dry_run", 1, "dry_run"),
]
BURIAL: list[Bad] = [
    *STREAM,
    *GROUP,
    *NOTE,
    ("entry", "1", "entry"),
    ("entry", None, "entry"),
    ("reason", None, "reason"),
    ("group", "ingest", "group"),
]
REGISTRATION: list[Bad] = [*STREAM, *GROUP, *NOTE, ("group", "embedder", "group"), ("at_end", "yes", "at_end")]
REST: list[Bad] = [*GROUP, *NOTE, ("group", "nobody", "group")]

BAD: list[tuple[str, str, list[Bad]]] = [
    ("POST", "/v1/admin/streams:replay", REPLAYED),
    ("POST", "/v1/admin/streams:bury", BURIAL),
    ("POST", "/v1/admin/groups:pause", REST),
    ("POST", "/v1/admin/groups:resume", [*GROUP, ("group", "nobody", "group")]),
    ("POST", "/v1/admin/groups", REGISTRATION),
    ("POST", "/v1/admin/dead:replay", DEAD),
    ("POST", "/v1/admin/dead:discard", [*DEAD, *NOTE]),
]


def full(reason: str) -> dict[str, dict[str, Any]]:
    """Return a valid body for each route."""
    return {
        "/v1/admin/streams:replay": {"stream": "memory.stored"},
        "/v1/admin/streams:bury": {"stream": "memory.stored", "group": "embedder", "entry": "1-0", "reason": reason},
        "/v1/admin/groups:pause": {"group": "embedder", "reason": reason},
        "/v1/admin/groups:resume": {"group": "embedder"},
        "/v1/admin/groups": {"stream": "memory.stored", "group": "analytics", "reason": reason},
        "/v1/admin/dead:replay": {"stream": "memory.stored"},
        "/v1/admin/dead:discard": {"stream": "memory.stored", "reason": reason},
    }
