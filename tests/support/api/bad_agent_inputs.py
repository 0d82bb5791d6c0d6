"""Inputs that the routes of agents among themselves don't take: (member, value, the field that the refusal names)."""

from typing import Any

from openbrain.domain import limits

Bad = tuple[str, Any, str]
LONG = "x" * 60_000

AGENT: list[Bad] = [("agent_id", "x" * (limits.AGENT_CHARS + 1), "agent_id"), ("agent_id", "two\nlines", "agent_id")]
SEND: list[Bad] = [
    *AGENT,
    ("to", None, "to"),
    ("to", "  ", "to"),
    ("to", "x" * (limits.AGENT_CHARS + 1), "to"),
    ("content", None, "content"),
    ("content", " \n", ""),
    ("content", LONG, "content"),
    ("content", "nul \x00", "content"),
    ("subject", "x" * (limits.SUBJECT_CHARS + 1), "subject"),
    ("subject", "two\nlines", "subject"),
    ("org", "x" * (limits.ORG_CHARS + 1), "org"),
]
READ: list[Bad] = [
    *AGENT,
    ("ids", ["not-an-id"], "ids"),
    ("ids", ["00000000-0000-7000-8000-000000000000"] * (limits.BATCH_ITEMS + 1), "ids"),
    ("up_to", 0, "up_to"),
    ("up_to", "7", "up_to"),
    ("up_to", 2**60, "up_to"),
    ("up_to", None, ""),
]

BAD: list[tuple[str, str, list[Bad]]] = [
    ("POST", "/v1/messages/send", SEND),
    ("POST", "/v1/messages/read", READ),
    ("POST", "/v1/messages/{id}/read", AGENT),
]


def full(secret: str) -> dict[str, dict[str, Any]]:
    """A body of each that is taken."""
    return {
        "/v1/messages/send": {"to": "bo", "content": secret, "subject": secret},
        "/v1/messages/read": {"up_to": 1},
        "/v1/messages/{id}/read": {},
    }
