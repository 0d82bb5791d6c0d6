"""Invalid inputs of all routes: (member, value, the field that the refusal names)."""

from typing import Any

from openbrain.domain import limits
from tests.support.api.brain import offer
from tests.support.api.inputs import (
    bad_agent_inputs,
    bad_lifecycle_inputs,
    bad_signal_inputs,
    bad_stream_inputs,
    bad_vault_inputs,
)

SECRET = "correct-horse-battery"
LONG = "x" * 60_000

Bad = tuple[str, Any, str]

ONE_MEMORY: list[Bad] = [
    ("content", None, "content"),
    ("content", "", "content"),
    ("content", " \n\t", ""),
    ("content", 7, "content"),
    ("content", ["a"], "content"),
    ("content", SECRET + "x" * limits.CONTENT_CHARS, "content"),
    ("content", "bell \x07", "content"),
    ("content", "nul \x00", "content"),
    ("content", "csi \x9b31m", "content"),
    ("org", "pad\x80ding", "org"),
    ("source", "apc\x9fb", "source"),
    ("tags", ["next\x85line"], "tags"),
    ("metadata", {"a": [{"b": "csi \x9b31m"}]}, "metadata"),
    ("metadata", {"a": {"csi \x9b31m": 1}}, "metadata"),
    ("metadata", {"a": "escape \x1b[2J"}, "metadata"),
    ("type", None, "type"),
    ("type", "rumour", "type"),
    ("type", 1, "type"),
    ("org", "x" * (limits.ORG_CHARS + 1), "org"),
    ("org", "  ", "org"),
    ("org", "two\nlines", "org"),
    ("project", "x" * (limits.PROJECT_CHARS + 1), "project"),
    ("agent_id", "x" * (limits.AGENT_CHARS + 1), "agent_id"),
    ("session_id", "x" * (limits.SESSION_CHARS + 1), "session_id"),
    ("memory_scope", "galaxy", "memory_scope"),
    ("memory_scope", "session", ""),
    ("tags", ["t"] * 10_000, "tags"),
    ("tags", ["x" * (limits.TAG_CHARS + 1)], "tags"),
    ("tags", [1], "tags"),
    ("tags", {"a": 1}, "tags"),
    ("metadata", {"a": "x" * limits.METADATA_BYTES}, "metadata"),
    ("metadata", {"a": 10**400}, "metadata"),
    ("metadata", [1], "metadata"),
    ("confidence", 1.01, "confidence"),
    ("confidence", -0.01, "confidence"),
    ("confidence", float("nan"), "confidence"),
    ("confidence", float("inf"), "confidence"),
    ("confidence", True, "confidence"),
    ("confidence", "0.5", "confidence"),
    ("metadata", {"a": float("nan")}, "metadata"),
    ("occurred_at", "2026-01-01T00:00:00", "occurred_at"),
    ("occurred_at", "yesterday", "occurred_at"),
    ("occurred_at", 0, "occurred_at"),
    ("expires_at", "2026-01-01T00:00:00", "expires_at"),
    ("expires_at", "2026-01-01T00:00:00Z", "expires_at"),
    ("expires_at", "9999-12-31T00:00:00Z", "expires_at"),
    ("expires_in", 0, "expires_in"),
    ("expires_in", 1.5, "expires_in"),
    ("expires_in", 10**12, "expires_in"),
    ("expires_in", True, "expires_in"),
    ("turn", -1, "turn"),
    ("turn", 2**31, "turn"),
    ("speaker", "x" * (limits.SPEAKER_CHARS + 1), "speaker"),
    ("source", "x" * (limits.SOURCE_CHARS + 1), "source"),
    ("supersedes", "not-an-id", "supersedes"),
    ("supersedes", "00000000-0000-7000-8000-000000000000", "supersedes"),
    ("allow_duplicate", "perhaps", "allow_duplicate"),
    ("embed", "perhaps", "embed"),
]

QUESTION: list[Bad] = [
    ("query", None, "query"),
    ("query", "", "query"),
    ("query", "   ", "query"),
    ("query", 5, "query"),
    ("query", SECRET + "x" * limits.QUERY_CHARS, "query"),
    ("query", "nul \x00", "query"),
    ("top_k", 0, "top_k"),
    ("top_k", limits.TOP_K + 1, "top_k"),
    ("top_k", "5", "top_k"),
    ("top_k", 1.5, "top_k"),
    ("top_k", True, "top_k"),
    ("top_k", 10**30, "top_k"),
    ("limit", 0, "limit"),
    ("type", "rumour", "type"),
    ("type", ["fact", "rumour"], "type"),
    ("org", LONG, "org"),
    ("project", LONG, "project"),
    ("tags", ["t"] * 51, "tags"),
    ("include_scopes", ["galaxy"], "include_scopes"),
    ("session_id", LONG, "session_id"),
    ("min_confidence", 2, "min_confidence"),
    ("min_confidence", float("nan"), "min_confidence"),
    ("max_confidence", -1, "max_confidence"),
    ("since", "2026-01-01T00:00:00", "since"),
    ("until", 5, "until"),
    ("keywords", ["x" * (limits.KEYWORD_CHARS + 1)], "keywords"),
    ("keywords", ["k"] * (limits.KEYWORDS + 1), "keywords"),
    ("boost_keywords", True, "boost_keywords"),
    ("boost_keywords", float("nan"), "boost_keywords"),
    ("boost_keywords", -1, "boost_keywords"),
    ("boost_keywords", [7], "boost_keywords"),
    ("filter", "fact", "filter"),
    ("filter", {"type": "rumour"}, "filter.type"),
    ("filter", {"min_confidence": 2}, "filter.min_confidence"),
]

CHANGES: list[Bad] = [
    *[bad for bad in ONE_MEMORY if bad[0] in {"tags", "metadata", "confidence", "source", "expires_at", "expires_in"}],
    *[bad for bad in ONE_MEMORY if bad[0] in {"content", "type"} and bad[1] is not None],
    ("confirm", "yes", "confirm"),
]

ADMIN_KEY: list[Bad] = [
    ("name", None, "name"),
    ("name", "", "name"),
    ("name", "x" * (limits.NAME_CHARS + 1), "name"),
    ("permissions", None, "permissions"),
    ("permissions", [], "permissions"),
    ("permissions", ["brain.everything"], "permissions"),
    ("agent_id", LONG, "agent_id"),
    ("orgs", [], "orgs"),
    ("orgs", ["o"] * 101, "orgs"),
    ("act_as", [""], "act_as"),
    ("without_org", "no", "without_org"),
    ("expires_in", 0, "expires_in"),
    ("expires_at", "2001-01-01T00:00:00Z", "expires_at"),
    ("rate_limit", 0, "rate_limit"),
    ("rate_limit", True, "rate_limit"),
    ("rate_limit", 10**8, "rate_limit"),
    ("toolsets", ["most"], "toolsets"),
    ("toolsets", ["vault"] * 6, "toolsets"),
]

ROTATION: list[Bad] = [
    ("overlap_s", -1, "overlap_s"),
    ("overlap_s", 1.5, "overlap_s"),
    ("overlap_s", "0", "overlap_s"),
    ("overlap_s", 10**9, "overlap_s"),
]

QUOTAS: list[Bad] = [
    ("name", "x" * (limits.NAME_CHARS + 1), "name"),
    ("max_memories", -1, "max_memories"),
    ("max_memories", 1.5, "max_memories"),
    ("max_bytes", "5", "max_bytes"),
    ("max_bytes", 2**53, "max_bytes"),
]

WORKSPACE: list[Bad] = [
    ("id", None, "id"),
    ("id", "", "id"),
    ("id", "with space", "id"),
    ("id", "dotted.name", "id"),
    ("id", "../up", "id"),
    ("id", "x" * (limits.WORKSPACE_CHARS + 1), "id"),
    *QUOTAS,
]

QUERIES: list[Bad] = [
    ("limit", "0", "limit"),
    ("limit", str(limits.LIST_LIMIT + 1), "limit"),
    ("limit", "many", "limit"),
    ("limit", "9" * 5000, "limit"),
    ("type", "rumour", "type"),
    ("include_scopes", "galaxy", "include_scopes"),
    ("org", "x" * (limits.ORG_CHARS + 1), "org"),
    ("project", "bell\x07", "project"),
    ("min_confidence", "nan", "min_confidence"),
    ("min_confidence", "2", "min_confidence"),
    ("max_confidence", "2", "max_confidence"),
    ("since", "2026-01-01T00:00:00", "since"),
    ("until", "tomorrow", "until"),
    ("session_id", "x" * (limits.SESSION_CHARS + 1), "session_id"),
    ("cursor", "1.x", "cursor"),
]

MODEL: list[Bad] = [
    ("model", None, "model"),
    ("model", "", "model"),
    ("model", 5, "model"),
    ("model", "two words", "model"),
    ("model", LONG, "model"),
    ("rate", 0, "rate"),
    ("max_failures", -1, "max_failures"),
    ("re_embed", "yes", "re_embed"),
    ("dry_run", "no", "dry_run"),
    ("models", ["a slip of the pen"], "models"),
]

FULL: dict[str, dict[str, Any]] = {
    **bad_stream_inputs.full(SECRET),
    **bad_signal_inputs.full(SECRET),
    **bad_vault_inputs.full(SECRET),
    **bad_agent_inputs.full(SECRET),
    **bad_lifecycle_inputs.full(SECRET),
    "/v1/brain/remember": offer(SECRET),
    "/v1/brain/remember:batch": {"memories": [offer(SECRET)]},
    "/v1/brain/recall": {"query": SECRET},
    "/v1/brain/recall:batch": {"queries": [{"query": SECRET}]},
    "/v1/brain/memories/{id}": {"tags": [SECRET]},
    "/v1/brain/forget/{id}": {"reason": SECRET},
    "/v1/brain/memories/{id}:restore": {"reason": SECRET},
    "/v1/brain/forget": {"project": SECRET, "reason": SECRET},
    "/v1/admin/keys": {"name": SECRET, "permissions": ["brain.read"]},
    "/v1/admin/workspaces/{id}": {"name": SECRET},
    "/v1/admin/keys/{id}:rotate": {"overlap_s": 5},
    "/v1/admin/workspaces": {"id": "w9", "name": SECRET},
    "/v1/admin/models:change": {"model": "all-minilm", "dry_run": True},
    "/v1/admin/verify": {"full": True},
    "/v1/admin/reindex": {"index": "vector", "in_place": True, "project": SECRET},
}
REASON: list[Bad] = [("reason", "x" * (limits.REASON_CHARS + 1), "reason"), ("reason", 5, "reason")]

BATCH: list[Bad] = [
    ("memories", None, "memories"),
    ("memories", [], "memories"),
    ("memories", {}, "memories"),
    ("memories", [offer()] * (limits.BATCH_ITEMS + 1), "memories"),
]

QUESTIONS: list[Bad] = [
    ("queries", None, "queries"),
    ("queries", [], "queries"),
    ("queries", {"query": SECRET}, "queries"),
    ("queries", SECRET, "queries"),
    ("queries", [{"query": SECRET}] * (limits.BATCH_QUESTIONS + 1), "queries"),
]

BULK: list[Bad] = [
    ("matching", "an", "matching"),
    ("matching", "x" * 256, "matching"),
    ("speaker", "x" * 101, "speaker"),
    ("whole", "yes", "whole"),
    *REASON,
    *[bad for bad in QUESTION if bad[0] in {"type", "org", "tags", "include_scopes", "session_id", "max_confidence"}],
    ("min_confidence", 0.3, "min_confidence"),
    ("project", None, ""),
    ("project", LONG, "project"),
    ("since", "2026-01-01T00:00:00", "since"),
    ("projcet", "a slip of the pen", "projcet"),
    ("dry_run", "no", "dry_run"),
    ("erase", 1, "erase"),
]

REINDEXING: list[Bad] = [
    ("index", None, "index"),
    ("index", "vectors", "index"),
    ("in_place", "yes", "in_place"),
    ("workspace_id", "a b", "workspace_id"),
    ("org", LONG, "org"),
    ("project", LONG, "project"),
    ("since", "2026-01-01T00:00:00", "since"),
    ("stale", 1, "stale"),
    ("re_embed", "no", "re_embed"),
    ("rate", 0, "rate"),
    ("rate", 10**9, "rate"),
    ("max_failures", -1, "max_failures"),
    ("dry_run", "no", "dry_run"),
    ("stael", True, "stael"),
]

VERIFYING: list[Bad] = [
    ("full", 1, "full"),
    ("repair", "yes", "repair"),
    ("restored", "no", "restored"),
    ("repiar", True, "repiar"),
]

BAD: list[tuple[str, str, list[Bad]]] = [
    *bad_stream_inputs.BAD,
    *bad_signal_inputs.BAD,
    *bad_vault_inputs.BAD,
    *bad_agent_inputs.BAD,
    *bad_lifecycle_inputs.BAD,
    ("POST", "/v1/brain/remember", ONE_MEMORY),
    ("POST", "/v1/brain/recall", QUESTION),
    ("PATCH", "/v1/brain/memories/{id}", CHANGES),
    (
        "DELETE",
        "/v1/brain/forget/{id}",
        REASON,
    ),
    ("POST", "/v1/brain/memories/{id}:restore", REASON),
    ("DELETE", "/v1/brain/memories/{id}", REASON),
    ("POST", "/v1/brain/forget", BULK),
    ("POST", "/v1/admin/keys", ADMIN_KEY),
    ("POST", "/v1/admin/workspaces", WORKSPACE),
    ("PATCH", "/v1/admin/workspaces/{id}", QUOTAS),
    ("POST", "/v1/admin/keys/{id}:rotate", ROTATION),
    ("POST", "/v1/brain/remember:batch", BATCH),
    ("POST", "/v1/admin/models:change", MODEL),
    ("POST", "/v1/admin/reindex", REINDEXING),
    ("POST", "/v1/admin/verify", VERIFYING),
    ("POST", "/v1/brain/recall:batch", QUESTIONS),
]

RAW: list[tuple[str, bytes, int]] = [
    ("not JSON", b"{" + SECRET.encode(), 400),
    ("cut off", b'{"content": "' + SECRET.encode(), 400),
    ("invalid UTF-8", b'{"content": "\xff\xfe", "query": "\xff\xfe", "type": "fact"}', 400),
    ("a lone surrogate", rb'{"content": "\ud800", "query": "\ud800", "type": "fact", "name": "\ud800"}', 400),
    ("deeply nested", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400),
    ("deeply nested lists", b'{"metadata": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}", 400),
    ("a list", b"[1, 2]", 422),
    ("a string", b'"' + SECRET.encode() + b'"', 422),
    ("null", b"null", 422),
]
