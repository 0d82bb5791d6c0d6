"""No write route lets a secret reach the database: its bytes are searched after each was used."""

from pathlib import Path

import pytest

from benchmarks.support.secret_samples import samples
from openbrain.adapters.local.secret_policy import SecretPolicy
from openbrain.domain.access.permissions import Permission
from openbrain_api.handlers import ROUTES
from tests.support.api.brain import Brain, http, remembered
from tests.support.api.marked_requests import well_formed
from tests.support.overhearing import Marks

TOKEN = next(each.value for each in samples() if each.secret and each.kind == "github token")
NAMES = ("org", "project", "agent_id", "session_id", "idempotency_key", "to", "agents")
"""Identifiers, which are compared byte for byte and are no place for texts."""


class Planted(Marks):
    """The token in every text that a request may hold."""

    def __call__(self, place: str) -> str:
        name = place.rpartition(" ")[2]
        return name.replace("_", "-") if name in NAMES else TOKEN


@pytest.mark.timeout(120)
async def test_no_route_stores_a_secret(brain: Brain, tmp_path: Path) -> None:
    secret = await brain.key("w1", permissions=frozenset(Permission), act_as=("*",))
    async with http(brain.app(content_policy=SecretPolicy()), secret) as client:
        (memory,) = await remembered(client, "here before")
        ids = {"/v1/brain": memory, "/v1/admin/workspaces": "spare", "/v1/admin": memory, "/v1/amygdala": memory}
        statuses = {}
        for request in well_formed(Planted(), ids):
            if request.method == "GET":
                continue
            answer = await client.request(
                request.method, request.path, params=request.params, content=request.content, headers=request.headers
            )
            statuses[f"{request.method} {request.path}"] = answer.status_code
        print(statuses)

    assert len(statuses) > len([route for route in ROUTES if route.method != "GET"]) // 2
    held = [path.name for path in tmp_path.glob("truth.db*") if TOKEN.encode() in path.read_bytes()]
    assert held == []
    assert any(b"[redacted: github-pat]" in path.read_bytes() for path in tmp_path.glob("truth.db*"))
