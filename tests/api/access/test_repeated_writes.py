"""A write that is sent again shows its writer nothing that the key may not see."""

from typing import Any

import pytest

from tests.support.api.brain import Brain, http

TURN = {"sessionId": "s1", "turn": 1}
PLAN = "The plan is to move on Friday."
SECRET = "The plan is to sell the house."


async def test_a_turn_of_another_org_is_not_shown_to_the_agents_other_key(brain: Brain) -> None:
    app = brain.app()
    of_alpha, of_beta = [await brain.key(orgs=(org,), without_org=False) for org in ("alpha", "beta")]
    beta = {"content": "said in beta", "org": "beta", "metadata": TURN}
    async with http(app, of_alpha) as alpha_client, http(app, of_beta) as beta_client:
        alpha = {"content": SECRET, "org": "alpha", "metadata": TURN}
        assert (await alpha_client.post("/v1/thoughts", json=alpha)).status_code == 201
        refused = await beta_client.post("/v1/thoughts", json=beta)
        batch = await beta_client.post("/v1/thoughts:batch", json={"thoughts": [beta, {**beta, "metadata": {}}]})
    assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
    assert SECRET not in refused.text
    first, second = batch.json()["results"]
    assert (first["status"], first["error"], second["status"]) == ("refused", "conflict", "created")
    assert "id" not in first


@pytest.mark.parametrize("path", ["/v1/brain/remember", "/v1/thoughts"])
async def test_what_others_made_of_a_memory_is_not_shown_to_who_stored_it(brain: Brain, path: str) -> None:
    app = brain.app()
    ada, eve = await brain.key(), await brain.key(agent="eve", act_as=("*",))
    body = {"content": PLAN} | ({"type": "decision"} if "brain" in path else {})
    sent: dict[str, Any] = {"json": body, "headers": {"Idempotency-Key": "k1"}}
    async with http(app, ada) as client, http(app, eve) as eves:
        memory_id = (await client.post(path, **sent)).json()["id"]
        assert (await client.post(path, **sent)).json()["id"] == memory_id
        # An agent's own memory can only be changed by a key that acts as it.
        acting = {"X-OpenBrain-Agent": "ada"}
        change = {"content": SECRET, "memory_scope": "agent", "agent_id": "eve"}
        moved = await eves.patch(f"/v1/brain/memories/{memory_id}", json=change, headers=acting)
        assert moved.status_code == 200, moved.text
        again = await client.post(path, **sent)
    assert (again.status_code, again.json()["error"]) == (409, "conflict")
    assert SECRET not in again.text
