"""All data about one agent or person: what an export shows is what an erasure removes."""

import json
from typing import Any

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from tests.api.memories.test_ending import at_work
from tests.support.api.brain import Brain, http, offer

pytestmark = pytest.mark.asyncio(loop_scope="module")

FORGET_ALL = "/v1/brain/forget"


@pytest.mark.parametrize(
    ("named", "others"), [({"agent_id": ["eve"]}, 4), ({"speaker": ["eve"]}, 2), ({"matching": "anna@example.com"}, 2)]
)
async def test_what_an_export_of_one_subject_shows_is_what_its_erasure_removes(
    module_brain: Brain, named: dict[str, Any], others: int
) -> None:
    brain, own, other = module_brain, f"own-{''.join(named)}", f"other-{''.join(named)}"
    app, everyone, anna = brain.app(), frozenset(Permission), "anna@example.com"
    body = {**named, "whole": True}

    async def lived(workspace: str) -> None:
        """eve sends and receives a message, and raises a signal as herself and another for a shop; bob does the same
        with root."""
        for agent, to in (("eve", "bob"), ("bob", "root")):
            async with http(app, await brain.key(workspace, permissions=everyone, agent=agent)) as client:
                said = offer(f"{agent} knows {anna if agent == 'eve' else 'nobody'}", speaker=agent)
                assert (await client.post("/v1/brain/remember", json=said)).is_success
                message = {"to": to, "subject": "", "content": f"{agent} to {to}, {anna}"}
                assert (await client.post("/v1/messages/send", json=message)).is_success
                for source in (agent, "shop"):
                    signal = {"source": source, "severity": "info", "title": f"{agent} says {source} burns"}
                    assert (await client.post("/v1/amygdala/signals", json=signal)).is_success
        async with http(app, await brain.key(workspace, permissions=everyone, agent="root")) as client:
            answer = {"to": "eve", "subject": "", "content": "root to eve"}
            assert (await client.post("/v1/messages/send", json=answer)).is_success

    await lived(own)
    await lived(other)
    async with (
        http(app, await brain.key(own, permissions=everyone, agent="root")) as admin,
        http(app, await brain.key(other, permissions=everyone, agent="root")) as foreign,
        http(app, await brain.key(own, agent="bob")) as bob,
    ):
        looked = (await admin.post(FORGET_ALL, json=body)).json()
        file = await admin.get("/v1/brain/export", params=named)
        exported = _lines(file)
        taken = (await foreign.post("/v1/brain/import", params={"dry_run": 1}, content=file.content)).json()
        narrower = _lines(await admin.get("/v1/brain/export", params={**named, "type": "fact"}))
        seen = _lines(await bob.get("/v1/brain/export", params=named))
        before = _lines(await foreign.get("/v1/brain/export", params=named))
        async with at_work(brain):
            erase = {**body, "erase": True, "dry_run": False}
            begun = (await admin.post(FORGET_ALL, json=erase, headers={"prefer": "wait=20"})).json()
        left = _lines(await admin.get("/v1/brain/export", params=named))
        again = (await admin.post(FORGET_ALL, json=body)).json()
        untouched = _lines(await foreign.get("/v1/brain/export", params=named))

    footer = exported["footer"][0]
    assert (footer["memories"], footer["beside"]) == (len(exported["memory"]), len(exported["beside"])) == (1, others)
    assert (taken["complete"], taken["refused"], taken["created"] + taken["present"]) == (True, 0, 1), taken
    assert (looked["count"], looked["beside"]) == (1, others)
    assert begun["operation"]["result"] == {"erased": 1, "beside": others}
    assert (again["count"], again["beside"], left["beside"]) == (0, 0, [])
    assert (narrower["beside"], seen["beside"]) == ([], []), "only an export without other filters, with an admin's key"
    assert untouched["beside"] == before["beside"]
    assert len(before["beside"]) == others


def _lines(response: httpx.Response) -> dict[str, list[dict[str, Any]]]:
    """The lines of an export, by kind."""
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in ("memory", "beside", "footer")}
    for line in map(json.loads, response.text.splitlines()):
        found.setdefault(line["kind"], []).append(line)
    return found
