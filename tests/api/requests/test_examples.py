"""The bodies shown in the OpenAPI document are accepted unchanged."""

from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.settings.webhooks import Webhooks
from openbrain.streams.operating.administration import RedisStreams
from openbrain_api.handlers import ROUTES
from openbrain_api.openapi.examples import EXAMPLES
from tests.support.api.brain import http
from tests.support.streams.operator import Operator

SHOWN = [
    (route.method, route.path, name, value) for route in ROUTES for name, value in EXAMPLES.get(route.body, {}).items()
]


def test_every_route_with_a_body_of_its_own_shows_one() -> None:
    bodies = {
        route.body
        for route in ROUTES
        if route.method == "POST" and any(field.is_required() for field in route.body.model_fields.values())
    }
    assert bodies <= set(EXAMPLES)


@pytest.mark.parametrize(
    ("method", "path", "name", "value"), SHOWN, ids=lambda each: each if isinstance(each, str) else ""
)
async def test_it_is_taken(operator: Operator, method: str, path: str, name: str, value: dict[str, Any]) -> None:
    brain = operator.brain
    posted = Webhooks(enabled=True, hosts=("hooks.example.org",))
    brain.settings = brain.settings.model_copy(update={"webhooks": posted})
    app = brain.app(streams=RedisStreams(operator.settings, operator.redis))
    await brain.workspace("w1")
    await brain.settle()  # creates the indexes
    operators = path.startswith("/v1/admin/") and path != "/v1/admin/keys"
    key = await brain.key("system" if operators else "w1", permissions=frozenset(Permission))
    async with http(app, key) as client:
        made = (await client.post("/v1/brain/remember", json={"content": "something", "type": "fact"})).json()
        if "/thoughts/" in path:
            made = (await client.post("/v1/thoughts", json={"content": "a turn", "agent_id": "ada"})).json()
        if "/feedback" in path:
            await operator.brain.settle()
            found = (await client.post("/v1/brain/recall", json={"query": "something"})).json()
            value, made = {"used": [made["id"]], "reason": value["reason"]}, {"id": found["recall_id"]}
        if "/subscriptions/" in path:
            made = (await client.post("/v1/brain/subscriptions", json={"query": "something"})).json()
        if "/sessions/" in path:
            await client.post("/v1/brain/sessions", json={"session_id": made["id"]})
        answer = await client.request(method, path.replace("{id}", made["id"]), json=value)

    assert answer.status_code < 300, answer.text
