"""Invalid bodies of lifecycle jobs, and valid ones."""

from typing import Any

LONG = "x" * 1000
Bad = tuple[str, Any, str]

SELECTED: list[Bad] = [
    ("org", LONG, "org"),
    ("project", LONG, "project"),
    ("type", "rumour", "type"),
    ("agent_id", LONG, "agent_id"),
    ("tags", ["t"] * 51, "tags"),
    ("older_than_days", -1, "older_than_days"),
    ("older_than_days", 10**9, "older_than_days"),
    ("older_than_days", "90d", "older_than_days"),
    ("dry_run", "no", "dry_run"),
    ("workspace_id", "w2", "workspace_id"),
]
PRUNING: list[Bad] = [
    *SELECTED,
    ("max_confidence", 2, "max_confidence"),
    ("max_effective_confidence", float("nan"), "max_effective_confidence"),
    ("min_confidence", -1, "min_confidence"),
    ("min_effective_confidence", "low", "min_effective_confidence"),
    ("unrecalled_days", 1.5, "unrecalled_days"),
]
CONSOLIDATING: list[Bad] = [
    *SELECTED,
    ("threshold", 0.5, "threshold"),
    ("threshold", 1.1, "threshold"),
    ("threshold", "high", "threshold"),
    ("reasoned", 1, "reasoned"),
]
REFILING: list[Bad] = [
    *SELECTED,
    ("to_org", LONG, "to_org"),
    ("to_project", "a\nb", "to_project"),
    ("to_memory_scope", "session", "to_memory_scope"),
    ("to_agent_id", "", "to_agent_id"),
]
BACKFILLING: list[Bad] = [
    *SELECTED,
    ("to_org", LONG, "to_org"),
    ("orgs", ["shop"], "orgs"),
    ("orgs", {"shop": LONG}, "orgs"),
    ("orgs", {f"p{number}": "core" for number in range(1001)}, "orgs"),
]
DOCUMENT: list[Bad] = [
    ("policies", {}, "policies"),
    ("policies", [{"name": "a", "job": "prune"}], "policies.0"),
    ("legal_hold", [{"org": LONG}], "legal_hold.0.org"),
    ("legal_hold", [{}] * 51, "legal_hold"),
    ("legal_hodl", [], "legal_hodl"),
]
CLEANING: list[Bad] = [
    *SELECTED,
    ("strip_pii", "yes", "strip_pii"),
    ("strip_secrets", 1, "strip_secrets"),
    ("normalise", "no", "normalise"),
]
BAD: list[tuple[str, str, list[Bad]]] = [
    ("POST", "/v1/admin/lifecycle:prune", PRUNING),
    ("PUT", "/v1/admin/lifecycle", DOCUMENT),
    ("POST", "/v1/admin/lifecycle:dedupe", SELECTED),
    ("POST", "/v1/admin/lifecycle:consolidate", CONSOLIDATING),
    ("POST", "/v1/admin/lifecycle:refile", REFILING),
    ("POST", "/v1/admin/lifecycle:backfill-org", BACKFILLING),
    ("POST", "/v1/admin/lifecycle:clean", CLEANING),
]


def full(secret: str) -> dict[str, dict[str, Any]]:
    """Return a valid body for each path."""
    return {
        "/v1/admin/lifecycle": {"legal_hold": [{"project": secret}]},
        "/v1/admin/lifecycle:prune": {"project": secret, "max_confidence": 0.1},
        "/v1/admin/lifecycle:dedupe": {"project": secret},
        "/v1/admin/lifecycle:consolidate": {"project": secret},
        "/v1/admin/lifecycle:refile": {"project": secret, "to_project": secret},
        "/v1/admin/lifecycle:backfill-org": {"orgs": {secret: secret}},
        "/v1/admin/lifecycle:clean": {"project": secret, "strip_pii": True},
    }
