"""Invalid inputs of the routes for signals: (member, value, the field that the refusal names)."""

from typing import Any

from openbrain.domain import limits

Bad = tuple[str, Any, str]
LONG = "x" * 60_000

PLACE: list[Bad] = [
    ("org", "x" * (limits.ORG_CHARS + 1), "org"),
    ("project", "bell\x07", "project"),
    ("ttl_s", 0, "ttl_s"),
    ("ttl_s", 1.5, "ttl_s"),
    ("ttl_s", 10**12, "ttl_s"),
    ("ttl_s", True, "ttl_s"),
    ("title", None, "title"),
    ("title", "  ", "title"),
    ("title", "two\nlines", "title"),
    ("title", LONG, "title"),
    ("content", LONG, "content"),
    ("content", "nul \x00", "content"),
    ("content", 5, "content"),
    ("dedup_key", LONG, "dedup_key"),
    ("source", "x" * (limits.SOURCE_CHARS + 1), "source"),
    ("source", 5, "source"),
]
SIGNAL: list[Bad] = [
    *PLACE,
    ("source", None, "source"),
    ("severity", None, "severity"),
    ("severity", "alert", "severity"),
    ("severity", 3, "severity"),
    ("halt", "yes", "halt"),
    ("halt_scope", "galaxy", "halt_scope"),
    ("halt_scope", "org", "org"),
]
HALT: list[Bad] = [*PLACE, ("scope", "galaxy", "scope"), ("scope", "org", "org"), ("scope", "project", "org")]
NOTE: list[Bad] = [
    ("note", "x" * (limits.REASON_CHARS + 1), "note"),
    ("note", 5, "note"),
    ("note", "bell \x07", "note"),
]
ACK: list[Bad] = [*NOTE, ("seq", 0, "seq"), ("seq", "1", "seq"), ("seq", 1.5, "seq"), ("seq", 2**60, "seq")]

WEBHOOK: list[Bad] = [
    ("url", None, "url"),
    ("url", " ", "url"),
    ("url", 5, "url"),
    ("url", LONG, "url"),
    ("min_severity", "alert", "min_severity"),
]
SWITCH: list[Bad] = [("enabled", None, "enabled"), ("enabled", "yes", "enabled"), ("enabled", 1, "enabled")]

REPLAY: list[Bad] = [
    ("seqs", 5, "seqs"),
    ("seqs", ["a"], "seqs"),
    ("seqs", [0], "seqs"),
    ("seqs", [1] * 501, "seqs"),
    ("dry_run", "no", "dry_run"),
]

WEBHOOKS = "/v1/amygdala/webhooks"
SIGNALS, HALTS = "/v1/amygdala/signals", "/v1/amygdala/halts"

BAD: list[tuple[str, str, list[Bad]]] = [
    ("POST", SIGNALS, SIGNAL),
    ("POST", f"{SIGNALS}/{{id}}/ack", ACK),
    ("POST", f"{SIGNALS}/{{id}}/resolve", NOTE),
    ("POST", HALTS, HALT),
    ("POST", f"{HALTS}/{{id}}/ack", NOTE),
    ("POST", f"{HALTS}/{{id}}/resume", NOTE),
    ("POST", WEBHOOKS, WEBHOOK),
    ("PATCH", f"{WEBHOOKS}/{{id}}", SWITCH),
    ("POST", f"{WEBHOOKS}/{{id}}/dead:replay", REPLAY),
]


def full(secret: str) -> dict[str, dict[str, Any]]:
    """Return a valid body for each route."""
    said: dict[str, dict[str, Any]] = {path: {"note": secret} for _, path, bads in BAD if bads in (NOTE, ACK)}
    signal = {"source": secret, "severity": "warning", "title": secret, "content": secret}
    said |= {WEBHOOKS: {"url": f"https://hooks.example.org/{secret}"}, f"{WEBHOOKS}/{{id}}": {"enabled": True}}
    said |= {f"{WEBHOOKS}/{{id}}/dead:replay": {"seqs": [1]}}
    return {**said, SIGNALS: signal, HALTS: {"title": secret, "content": secret}}
