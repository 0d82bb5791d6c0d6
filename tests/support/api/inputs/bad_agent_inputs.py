"""Invalid inputs of the routes for agents: (member, value, the field that the refusal names)."""

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

START: list[Bad] = [
    *AGENT,
    ("session_id", "with space", "session_id"),
    ("session_id", "a/b", "session_id"),
    ("session_id", "x" * (limits.SESSION_CHARS + 1), "session_id"),
    ("org", "x" * (limits.ORG_CHARS + 1), "org"),
    ("project", "bell\x07", "project"),
    ("policy", "forget", "policy"),
    ("days", 0, "days"),
    ("days", "7", "days"),
    ("days", limits.SESSION_DAYS + 1, "days"),
    ("agents", ["a"] * (limits.SESSION_AGENTS + 1), "agents"),
    ("agents", [""], "agents"),
]
APPEND: list[Bad] = [
    *AGENT,
    ("turns", None, "turns"),
    ("turns", [], "turns"),
    ("turns", [{"content": "said"}], "turns"),
    ("turns", [{"turn": -1, "content": "said"}], "turns"),
    ("turns", [{"turn": 1, "content": " "}], "turns"),
    ("turns", [{"turn": 1, "content": "said", "type": "rumour"}], "turns"),
    ("turns", [{"turn": 1, "content": "said"}] * (limits.BATCH_ITEMS + 1), "turns"),
]
END: list[Bad] = [
    *AGENT,
    ("summary", "  ", "summary"),
    ("summary", "x" * (limits.SUMMARY_CHARS + 1), "summary"),
    ("next_steps", ["x" * (limits.STEP_CHARS + 1)], "next_steps"),
    ("next_steps", ["x"] * (limits.STEPS + 1), "next_steps"),
    ("blockers", "none", "blockers"),
    ("expires_in", 0, "expires_in"),
]

ID = "00000000-0000-7000-8000-000000000000"
FEEDBACK: list[Bad] = [
    *AGENT,
    ("used", ["not-an-id"], "used"),
    ("used", [ID, ID], ""),
    ("used", [], ""),
    ("ignored", [ID] * (limits.TOP_K + 1), "ignored"),
    ("wrong", ID, "wrong"),
    ("reason", "x" * (limits.REASON_CHARS + 1), "reason"),
    ("session_id", "x" * (limits.SESSION_CHARS + 1), "session_id"),
]

SUBSCRIBE: list[Bad] = [
    *AGENT,
    ("query", "", "query"),
    ("query", LONG, "query"),
    ("query", None, ""),
    ("filter", {"project": "x" * (limits.PROJECT_CHARS + 1)}, "filter.project"),
    ("filter", {"type": ["rumour"]}, "filter.type"),
    ("filter", {"tags": ["x"] * (limits.TAGS + 1)}, "filter.tags"),
    ("filter", {"include_scopes": ["galaxy"]}, "filter.include_scopes"),
    ("min_similarity", 1.5, "min_similarity"),
    ("min_similarity", "near", "min_similarity"),
    ("include_own", "yes", "include_own"),
]
THOUGHT: list[Bad] = [
    *AGENT,
    ("content", None, "content"),
    ("content", " \n", "content"),
    ("content", 7, "content"),
    ("content", "x" * (limits.THOUGHT_CHARS + 1), "content"),
    ("source", "two\nlines", "source"),
    ("metadata", [1], "metadata"),
    ("metadata", {"a": "x" * limits.METADATA_BYTES}, "metadata"),
    ("metadata", {"a": "escape \x1b[2J"}, "metadata"),
    ("memory_scope", "shared", "memory_scope"),
    ("memory_scope", "session", ""),
    ("org", "x" * (limits.ORG_CHARS + 1), "org"),
    ("project", "bell\x07", "project"),
    ("occurred_at", "yesterday", "occurred_at"),
]
THOUGHTS: list[Bad] = [
    ("thoughts", None, "thoughts"),
    ("thoughts", [], "thoughts"),
    ("thoughts", [{"content": "said"}] * (limits.BATCH_ITEMS + 1), "thoughts"),
]
THOUGHT_CHANGES: list[Bad] = [
    ("content", " ", "content"),
    ("content", None, ""),
    ("metadata", "none", "metadata"),
]
THOUGHT_SEARCH: list[Bad] = [
    *AGENT,
    ("query", " ", "query"),
    ("query", "x" * (limits.QUERY_CHARS + 1), "query"),
    ("limit", 0, "limit"),
    ("limit", "5", "limit"),
    ("source", "x" * (limits.SOURCE_CHARS + 1), "source"),
    ("metadata", {}, "metadata"),
    ("metadata", {"a b": "x"}, "metadata"),
    ("metadata", {"a": [1]}, "metadata"),
    ("metadata", {"a": "x" * (limits.METADATA_VALUE_CHARS + 1)}, "metadata"),
    ("session_id", "x" * (limits.SESSION_CHARS + 1), "session_id"),
    ("min_similarity", 2, "min_similarity"),
]

REPLAY: list[Bad] = [
    *AGENT,
    ("since", None, "since"),
    ("since", "yesterday", "since"),
    ("since", "2026-01-01T00:00:00", "since"),
    ("until", "soon", "until"),
]

BAD: list[tuple[str, str, list[Bad]]] = [
    ("POST", "/v1/brain/subscriptions", SUBSCRIBE),
    ("POST", "/v1/brain/subscriptions/{id}:replay", REPLAY),
    ("POST", "/v1/messages/send", SEND),
    ("POST", "/v1/brain/recall/{id}/feedback", FEEDBACK),
    ("POST", "/v1/brain/sessions", START),
    ("POST", "/v1/brain/sessions/{id}/append", APPEND),
    ("POST", "/v1/brain/sessions/{id}/end", END),
    ("POST", "/v1/messages/read", READ),
    ("POST", "/v1/thoughts", THOUGHT),
    ("POST", "/v1/thoughts:batch", THOUGHTS),
    ("PATCH", "/v1/thoughts/{id}", THOUGHT_CHANGES),
    ("POST", "/v1/search", THOUGHT_SEARCH),
    ("POST", "/v1/messages/{id}/read", AGENT),
]


def full(secret: str) -> dict[str, dict[str, Any]]:
    """Return a valid body for each route."""
    return {
        "/v1/brain/recall/{id}/feedback": {"used": [ID], "reason": secret},
        "/v1/brain/sessions": {"project": secret},
        "/v1/brain/subscriptions": {"query": secret},
        "/v1/brain/subscriptions/{id}:replay": {"since": "2026-01-01T00:00:00Z"},
        "/v1/brain/sessions/{id}/append": {"turns": [{"turn": 1, "content": secret}]},
        "/v1/brain/sessions/{id}/end": {"summary": secret, "next_steps": [secret]},
        "/v1/messages/send": {"to": "bo", "content": secret, "subject": secret},
        "/v1/messages/read": {"up_to": 1},
        "/v1/thoughts": {"content": secret},
        "/v1/thoughts:batch": {"thoughts": [{"content": secret}]},
        "/v1/thoughts/{id}": {"content": secret},
        "/v1/search": {"query": secret},
        "/v1/messages/{id}/read": {},
    }
