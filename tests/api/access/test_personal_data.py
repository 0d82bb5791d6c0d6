"""Each workspace's rule decides what happens to personal data, in every text of a memory."""

from typing import Any

from openbrain.adapters.personal_data.detection import PersonalDataDetector
from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.content import Action
from openbrain.ports.store.tenants import WorkspaceChange
from openbrain.usecases.content.policy import LABEL, DetectingPolicy
from tests.support.api.brain import Brain, http, offer, refused

MAIL = "anna.muster@example.com"
MASK = "[redacted: email]"
STORED = ("source", "tags")
"""Filters by what is masked when it is stored."""


async def stored(client: Any, content: str, **fields: Any) -> dict[str, Any]:
    made = (await client.post("/v1/brain/remember", json=offer(content, **fields))).json()
    memory: dict[str, Any] = (await client.get(f"/v1/brain/memories/{made['id']}")).json()
    return memory


async def test_each_workspace_has_a_rule_of_its_own(brain: Brain) -> None:
    rules = brain.store.workspaces.personal_data_rules
    app = brain.app(content_policy=DetectingPolicy(personal=PersonalDataDetector(), rules=rules, clock=brain.clock))
    operator = await brain.key("system", permissions=frozenset({Permission.ADMIN}))
    ours, theirs = await brain.key("w1"), await brain.key("w2")

    async def rule(action: str) -> int:
        async with http(app, operator) as client:
            answer = await client.patch("/v1/admin/workspaces/w1", json={"personal_data": action})
        brain.clock.advance(2 * MICROSECONDS)
        return answer.status_code

    async with http(app, ours) as client, http(app, theirs) as other:
        before = await stored(client, f"ask {MAIL}")
        assert await rule("mask") == 200
        fields = {"title": MAIL, "tags": [MAIL, "shop"], "metadata": {"of": {"mail": MAIL}}, "source": MAIL}
        masked = await stored(client, f"write to {MAIL}", **fields)
        elsewhere = await stored(other, f"write to {MAIL}")
        await rule("hash")
        hashed = await stored(client, f"hash {MAIL}")
        await rule("refuse")
        refused = await client.post("/v1/brain/remember", json=offer("fine", metadata={"mail": MAIL}))
        await rule("label")
        labelled = await stored(client, f"label {MAIL}", tags=["shop"])
        edited = await client.patch(f"/v1/brain/memories/{before['id']}", json={"content": f"call {MAIL}"})
        await rule("off")
        plain = await stored(client, f"off {MAIL}")
        wrong = await rule("shred")

    assert (before["content"], elsewhere["content"], plain["content"]) == (
        f"ask {MAIL}",
        f"write to {MAIL}",
        f"off {MAIL}",
    )
    assert masked["content"] == f"write to {MASK}"
    assert [masked[name] for name in ("title", "source")] == [MASK, MASK]
    assert (masked["tags"], masked["metadata"]) == ([MASK, "shop"], {"of": {"mail": MASK}})
    assert (hashed["content"].startswith("hash [email: "), MAIL in hashed["content"]) == (True, False)
    assert (refused.status_code, refused.json()["field"], MAIL in refused.text) == (422, "metadata.mail", False)
    assert (labelled["content"], labelled["tags"]) == (f"label {MAIL}", ["shop", LABEL])
    assert (edited.json()["content"], edited.json()["tags"]) == (f"call {MAIL}", [LABEL])
    assert wrong == 422


async def test_names_stay_as_they_are_because_others_would_be_meant(brain: Brain) -> None:
    rules = brain.store.workspaces.personal_data_rules
    app = brain.app(content_policy=DetectingPolicy(personal=PersonalDataDetector(), rules=rules, clock=brain.clock))
    hub = await brain.key(agent="hub", act_as=(MAIL,))
    await brain.store.workspaces.change_workspace("w1", WorkspaceChange(personal_data=Action.MASK))
    async with http(app, hub) as client, http(app, await brain.key(agent=MAIL)) as anna:
        session = (await client.post("/v1/brain/sessions", json={"session_id": MAIL, "agent_id": MAIL})).json()
        turns = {"turns": [{"turn": 1, "content": f"ask {MAIL}"}], "agent_id": MAIL}
        appended = await client.post(f"/v1/brain/sessions/{MAIL}/append", json=turns)
        turn = appended.json()["results"][0]["id"]
        path, within = f"/v1/brain/memories/{turn}", {"session_id": MAIL}
        shown = (await anna.get(path, params=within)).json()
        changed = await anna.patch(path, params=within, json={"tags": ["seen"]})
        gone = await anna.delete(path, params=within)

    assert (session["id"], session["agent_id"]) == (MAIL, MAIL)
    assert (shown["content"], shown["session_id"], shown["agent_id"]) == (f"ask {MASK}", MAIL, MAIL)
    assert (changed.status_code, gone.status_code) == (200, 200)


async def test_a_legal_hold_and_a_job_are_about_the_agents_they_name(brain: Brain) -> None:
    rules = brain.store.workspaces.personal_data_rules
    app = brain.app(content_policy=DetectingPolicy(personal=PersonalDataDetector(), rules=rules, clock=brain.clock))
    admin = await brain.key(permissions=frozenset(Permission))
    await brain.store.workspaces.change_workspace("w1", WorkspaceChange(personal_data=Action.MASK))
    job = {"agent_id": [MAIL], "older_than_days": 9}
    policy = {"name": "old", "schedule": "30 3 * * *", "job": "prune", "body": job}
    async with http(app, admin) as client:
        document = {"legal_hold": [{"agent_id": [MAIL]}], "policies": [policy]}
        await client.put("/v1/admin/lifecycle", json=document)
        standing = (await client.get("/v1/admin/lifecycle")).json()
        started = (await client.post("/v1/admin/lifecycle:prune", json=job)).json()
        others = [await client.post("/v1/admin/lifecycle:prune", json={**job, name: [MAIL]}) for name in STORED]
        others += [await client.put("/v1/admin/lifecycle", json={"legal_hold": [{name: MAIL}]}) for name in STORED]
        old = {**policy, "body": {**job, "tags": [MAIL]}}
        others.append(await client.put("/v1/admin/lifecycle", json={"policies": [old]}))
    held = await brain.store.policies.document("w1")

    assert standing["legal_hold"] == document["legal_hold"]
    assert standing["policies"][0]["body"]["agent_id"] == [MAIL]
    assert held is not None
    assert [hold.agents for hold in held.holds] == [(MAIL,)]
    assert started["operation"]["request"]["criteria"]["agents"] == [MAIL]
    assert [refused(other, 422)["field"] for other in others] == [*STORED, *STORED, "tags"], "others would be meant"
