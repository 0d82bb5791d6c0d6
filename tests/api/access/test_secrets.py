"""No write route lets a secret reach the database: its files are searched after each route was used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.support.labelled.secret_samples import samples
from openbrain.adapters.local.secret_detector import SecretDetector
from openbrain.domain.access.permissions import Permission
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain_api.handlers import ROUTES
from openbrain_api.http.route import Nothing
from tests.support.api.brain import Brain, http, offer, open_brain, remembered, unknown_id
from tests.support.api.routes.marked_requests import NDJSON, as_lines, header, memory_line, well_formed
from tests.support.processes.overhearing import Marks

pytestmark = pytest.mark.timeout(120)
TOKEN = next(each.value for each in samples() if each.secret and each.kind == "github token")
MASK = "[redacted: github-pat]"
IDENTIFIERS = ("org", "project", "agent_id", "session_id", "to", "agents", "workspace of the file")
"""Fields that are compared byte for byte and hold no free text."""
CREDENTIALS = frozenset({"/v1/amygdala/webhooks"})
"""Routes whose bodies contain a secret by design."""


class Planted(Marks):
    """Puts the token into every text that a request may hold."""

    def __call__(self, place: str) -> str:
        return "someone" if place.endswith(IDENTIFIERS) else f"It is {TOKEN}"


async def ids(client: httpx.AsyncClient) -> Mapping[str, str]:
    """One id of each kind, for the paths that contain one."""
    (memory,) = await remembered(client, "here before")
    raised = {"source": "disk", "severity": "warning", "title": "full"}
    made = {
        "/v1/brain/sessions": await client.post("/v1/brain/sessions", json={}),
        "/v1/brain/subscriptions": await client.post("/v1/brain/subscriptions", json={"query": "news"}),
        "/v1/amygdala/signals": await client.post("/v1/amygdala/signals", json=raised),
        "/v1/amygdala/halts": await client.post("/v1/amygdala/halts", json={"title": "stop"}),
    }
    halt = made["/v1/amygdala/halts"].json()["halt"]["id"]
    signal = made["/v1/amygdala/signals"].json()["signal"]["id"]
    session = made["/v1/brain/sessions"].json()["id"]
    heard = made["/v1/brain/subscriptions"].json()["id"]
    own = {"/v1/brain/subscriptions": heard, "/v1/brain/sessions": session}
    paths = {**own, "/v1/amygdala/signals": signal, "/v1/amygdala/halts": halt}
    return {**paths, "/v1/brain": memory, "/v1/admin/workspaces": "spare", "/v1": unknown_id()}


def by_hand(known: Mapping[str, str], recall: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Bodies that can't be filled generically."""
    text = f"It is {TOKEN}"
    session, found = known["/v1/brain/sessions"], recall["memories"][0]["id"]
    everything = offer(
        text, title=text, aliases=[text], tags=[text], source=text, speaker=text, metadata={"k": {"d": [text]}, text: 1}
    )
    signal = {"source": text, "severity": "warning", "title": text, "content": text, "dedup_key": text}
    return {
        "/v1/brain/remember": everything,
        "/v1/brain/remember:batch": {"memories": [{**everything, "content": f"{text} too"}]},
        f"/v1/brain/sessions/{session}/append": {"turns": [{"turn": 1, "content": text, "speaker": text}]},
        f"/v1/brain/sessions/{session}/end": {"summary": text, "next_steps": [text], "blockers": [text]},
        f"/v1/brain/recall/{recall['recall_id']}/feedback": {"used": [found], "reason": text},
        "/v1/brain/subscriptions": {"query": text, "filter": {"project": text, "tags": [text]}},
        "/v1/amygdala/signals": signal,
        "/v1/messages/send": {"to": "bob", "subject": text, "content": text},
        "/v1/thoughts": {"content": text, "agent_id": "ada", "metadata": {"role": text, "k": [text], text: 1}},
        "/v1/thoughts:batch": {"thoughts": [{"content": f"{text} too", "agent_id": "ada", "source": text}]},
        "/marker": {"type": "lesson", "content": text},
    }


async def test_no_route_stores_a_secret(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    recalling = {"keep_queries": True, "tuning": {"index_timeout_s": 60}}
    async with open_brain(
        f"sqlite+aiosqlite:///{tmp_path}/truth.db", tmp_path, tmp_path_factory, recall=recalling
    ) as brain:
        secret = await brain.key("system", permissions=frozenset(Permission), act_as=("*",))
        await brain.workspace("spare")
        async with http(brain.app(content_policy=DetectingPolicy(SecretDetector())), secret) as client:
            known = await ids(client)
            await brain.settle()
            recall = (await client.post("/v1/brain/recall", json={"query": f"here before {TOKEN}"})).json()
            taken: dict[str, int] = {}
            for path, body in by_hand(known, recall).items():
                taken[path] = (await client.post(path, json=body)).status_code
            marks = Planted()
            lines = as_lines([header(marks), memory_line(marks), {**memory_line(marks), "title": TOKEN}])
            landed = await client.post("/v1/brain/import", content=lines, headers=NDJSON)
            taken["/v1/brain/import"] = landed.status_code
            assert {path: status for path, status in taken.items() if status not in (200, 201)} == {}
            for request in well_formed(marks, known):
                if request.path in CREDENTIALS or request.method == "GET":
                    continue
                answer = await client.request(
                    request.method,
                    request.path,
                    params=request.params,
                    content=request.content,
                    headers=request.headers,
                )
                assert answer.status_code < 500, (request.path, answer.text)
            held = await client.get("/v1/brain/list", params={"limit": 100})
        await brain.settle()

    assert MASK in held.text
    assert TOKEN not in held.text
    files = {path: path.read_bytes() for path in tmp_path.glob("truth.db*")}
    assert any(MASK.encode() in raw for raw in files.values())
    assert [path.name for path, raw in files.items() if TOKEN.encode() in raw] == []


def test_every_changing_route_is_gated_unless_it_says_why_not() -> None:
    """Routes that are not gated pass their texts to the policy themselves, or take a credential."""
    open_ones = {f"{route.method} {route.path}" for route in ROUTES if route.changes and not route.gated}

    assert open_ones == {
        "POST /v1/brain/remember",
        "POST /v1/brain/remember:batch",
        "PATCH /v1/brain/memories/{id}",
        "POST /v1/brain/sessions/{id}/append",
        "POST /v1/brain/sessions/{id}/end",
        "POST /v1/messages/send",
        "POST /v1/thoughts",
        "POST /v1/thoughts:batch",
        "PATCH /v1/thoughts/{id}",
        "POST /v1/amygdala/webhooks",
    }
    assert all(route.body is not Nothing for route in ROUTES if not route.gated)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/brain/remember", offer("fine", tags=["ok", TOKEN]), "tags"),
        ("/v1/brain/remember", offer("fine", metadata={"owner": {"of": TOKEN}}), "metadata.owner.of"),
        ("/v1/messages/send", {"to": "bob", "subject": TOKEN, "content": "fine"}, "subject"),
        ("/v1/amygdala/halts", {"title": TOKEN}, "title"),
    ],
)
async def test_a_refusal_names_the_field(brain: Brain, path: str, body: dict[str, Any], field: str) -> None:
    secret = await brain.key("w1", permissions=frozenset(Permission))
    async with http(brain.app(content_policy=DetectingPolicy(SecretDetector(), refuse_secrets=True)), secret) as client:
        answer = await client.post(path, json=body)

    assert answer.status_code == 422
    assert (answer.json()["field"], TOKEN in answer.text) == (field, False)
