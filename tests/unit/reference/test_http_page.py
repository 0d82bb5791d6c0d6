"""docs/reference/http.md says what the code does."""

import re
from pathlib import Path

from openbrain.domain import limits
from openbrain.settings.server import Server
from openbrain_api.handlers import ROUTES

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())
NAMES = {
    "/v1/brain/search": "search",
    "/v1/brain/tags": "tags",
    "/v1/brain/scopes": "scopes",
    "/v1/brain/remember:batch": "`remember:batch`",
    "/v1/brain/recall:batch": "`recall:batch`",
    "/v1/brain/forget": "bulk forget",
    "/v1/admin/lifecycle:prune": "prune",
    "/v1/admin/lifecycle:dedupe": "dedupe",
    "/v1/admin/lifecycle:consolidate": "consolidate",
    "/v1/admin/lifecycle:refile": "refile",
    "/v1/admin/lifecycle:backfill-org": "backfill-org",
    "/v1/admin/lifecycle:clean": "clean",
    "/v1/admin/operations/{id}:undo": "undo",
    "/v1/brain/brief": "brief",
    "/v1/brain/review": "review",
    "/v1/brain/sessions/{id}/append": "a session's append",
    "/v1/brain/agent/{agent}/context": "context",
    "/v1/brain/export": "export",
    "/v1/brain/import": "import",
    "/v1/thoughts": "a bulk delete of thoughts",
    "/v1/thoughts:batch": "`thoughts:batch`",
    "/v1/stats": "stats",
    "/vault/arcs": "arcs by meaning",
    "/vault/arcs/{id}": "an arc",
    "/vault/search": "a vault's search",
}


def test_every_cost_is_told() -> None:
    found = re.search(r"A request costs 1; (.*?)\.", FLAT)
    assert found
    told = {
        name.strip(): int(part.rsplit(" ", 1)[1])
        for part in found[1].split(", ")
        for name in part.rsplit(" ", 1)[0].split(" and ")
    }

    assert told == {NAMES[route.path]: route.cost for route in ROUTES if route.cost != 1}


def test_every_limit_is_told() -> None:
    large = {route.path for route in ROUTES if route.body_bytes != limits.ONE_BODY_BYTES}

    assert all(path.rsplit("/", 1)[1] in PAGE for path in large)
    for number in (limits.BATCH_ITEMS, limits.WAIT_SECONDS, Server().tuning.gzip_bytes):
        assert re.search(rf"\b{number}\b", PAGE), number
    assert (limits.ONE_BODY_BYTES, limits.BODY_BYTES) == (2**20, 32 * 2**20)
