"""A misspelt argument of a request that removes, exports or limits something is refused: ignored, it would do more, or
limit less, than was meant."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openbrain.client.arguments import Lifecycled
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Invalid
from openbrain_api.handlers import ROUTES
from tests.support.api.brain import Brain, client_of, http, offer, refused, remembered
from tests.support.processes.settings import changed

CHOOSING = {"dry_run", "erase", "destroy"}
"""Arguments that decide what a removal leaves."""


async def test_a_misspelt_filter_does_not_end_every_thought_of_a_source(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        for session in ("a", "b"):
            body = {"content": f"said in {session}", "source": "chat", "metadata": {"sessionId": session}}
            await client.post("/v1/thoughts", json=body)
        wrong = await client.delete("/v1/thoughts", params={"source": "chat", "metdata.sessionId": "a"})
        left = (await client.get("/v1/thoughts")).json()

    problem = refused(wrong, 422, "metdata.sessionId")
    assert "is unknown: there are source, metadata_id, metadata, session_id, erase" in problem["message"]
    assert len(left) == 2


async def test_an_empty_author_does_not_end_what_others_wrote(brain: Brain) -> None:
    async with client_of(brain.app(), await brain.key()) as client:
        await client.remember(offer("Bob likes coffee", tags=["drinks"]))
        with pytest.raises(Invalid, match="author"):
            await client.forget_matching(author="", tags=["drinks"], dry_run=False)


EMPTY: list[dict[str, Any]] = [{name: []} for name in ("type", "source", "tags", "author", "speaker")]


@pytest.mark.parametrize("empty", [*EMPTY, {"include_scopes": ()}, {"metadata": {}}])
async def test_a_list_that_turned_out_empty_selects_nothing_instead_of_all(brain: Brain, empty: dict[str, Any]) -> None:
    (name,) = empty
    key = await brain.key(permissions=frozenset(Permission))
    async with client_of(brain.app(), key) as client:
        await client.remember(offer("Bob likes coffee", project="p"))
        for ends in (client.forget_matching(project="p", dry_run=False, **empty), anext(client.export(**empty))):
            with pytest.raises(Invalid, match=name):
                await ends
        if name in Lifecycled.__annotations__:
            with pytest.raises(Invalid, match=name):
                await client.prune(project="p", older_than_days=1, **empty)
    async with http(brain.app(), key) as plain:
        member = "agent_id" if name == "author" else name
        answer = await plain.post("/v1/brain/forget", json={"project": "p", member: empty[name], "dry_run": False})
        refused(answer, 422, member)


async def test_an_empty_filter_does_not_end_every_thought_of_a_source(brain: Brain) -> None:
    async with client_of(brain.app(), await brain.key()) as client:
        await client.capture("said", source="chat", metadata={"id": "a"})
        with pytest.raises(Invalid, match="metadata_id"):
            await client.delete_thoughts(source="chat", metadata_id="")
    async with http(brain.app(), await brain.key()) as client:
        none = await client.delete("/v1/thoughts", params={"source": "chat", "metadata_id": ""})
        refused(await client.delete("/v1/thoughts", params={"source": "", "metadata_id": "a"}), 422, "source")
        assert none.json()["deleted"] == 0
        assert len((await client.get("/v1/thoughts")).json()) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/v1/brain/memories/{id}"),
        ("DELETE", "/v1/thoughts/{id}"),
        ("DELETE", "/v1/admin/workspaces/w1?confirm=w1"),
        ("DELETE", "/v1/amygdala/webhooks/{id}"),
        ("POST", "/v1/brain/import"),
    ],
)
async def test_what_would_only_be_looked_at_is_not_done(method: str, path: str, brain: Brain) -> None:
    await brain.workspace()
    async with http(brain.app(), await brain.key("system", permissions=frozenset(Permission))) as client:
        (memory_id,) = await remembered(client, "first")
        wrong = await client.request(method, path.format(id=memory_id), params={"dryrun": "1"})

    assert "is unknown: there are" in refused(wrong, 422, "dryrun")["message"]


async def test_a_misspelt_filter_does_not_export_what_is_of_others(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, "Anna likes tea", "Bob likes coffee")
        wrong = await client.get("/v1/brain/export", params={"matchin": "Anna"})
        named = await client.get("/v1/brain/export", params={"matching": "Anna", "workspace_id": "w1"})

    assert (named.status_code, "Bob" in named.text) == (200, False)
    assert "matching" in refused(wrong, 422, "matchin")["message"]
    assert "Bob" not in wrong.text


@pytest.mark.parametrize("filters", [{"author": ""}, {"speaker": [""]}, {"matching": ""}])
async def test_an_empty_filter_does_not_export_what_is_of_others(filters: dict[str, Any], brain: Brain) -> None:
    name = "agent_id" if "author" in filters else next(iter(filters))
    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, "Bob likes coffee")
        refused(await client.get("/v1/brain/export", params={name: ""}), 422, name)
    async with client_of(brain.app(), await brain.key()) as client:
        with pytest.raises(Invalid, match="must not be empty"):
            await anext(client.export(**filters))


@pytest.mark.parametrize(
    ("method", "path", "body", "misspelt"),
    [
        ("POST", "/v1/admin/keys", {"name": "n", "permissions": ["brain.read"], "org": ["acme"]}, "org"),
        ("POST", "/v1/admin/keys/{id}:rotate", {"overlap": 0}, "overlap"),
        ("POST", "/v1/admin/workspaces", {"id": "acme", "name": "Acme", "personaldata": "mask"}, "personaldata"),
        ("PATCH", "/v1/admin/workspaces/w1", {"name": "W", "max_memory": 5}, "max_memory"),
    ],
)
async def test_a_limit_that_is_misspelt_is_not_left_out(
    method: str, path: str, body: dict[str, Any], misspelt: str, brain: Brain
) -> None:
    await brain.workspace()
    async with http(brain.app(), await brain.key("system", permissions=frozenset(Permission))) as client:
        key_id = (await client.get("/v1/whoami")).json()["key_id"]
        wrong = await client.request(method, path.format(id=key_id), json=body)
        keys = (await client.get("/v1/admin/keys")).json()["keys"]

    assert "is unknown: there are" in refused(wrong, 422, misspelt)["message"]
    assert [key["id"] for key in keys] == [key_id]


@pytest.mark.parametrize("more", [{"orgs": ["acme"]}, {"min_severty": "critical"}])
async def test_a_limit_that_a_webhook_does_not_know_is_not_left_out(more: dict[str, Any], brain: Brain) -> None:
    """A misspelt limit would post more to a foreign address."""
    webhooks = changed(brain.settings.webhooks, enabled=True, hosts=("hooks.example.org",))
    app = replace(brain, settings=brain.settings.model_copy(update={"webhooks": webhooks})).app()
    async with http(app, await brain.key(permissions=frozenset(Permission))) as client:
        body = {"url": "https://hooks.example.org/a", **more}
        wrong = await client.post("/v1/amygdala/webhooks", json=body)
        made = (await client.get("/v1/amygdala/webhooks")).json()["webhooks"]

    assert "is unknown: there are url, min_severity" in refused(wrong, 422, next(iter(more)))["message"]
    assert made == []


def test_every_removal_knows_its_arguments() -> None:
    lax = [
        f"{route.method} {route.path}"
        for route in ROUTES
        for model in (route.body, route.query)
        if route.changes and CHOOSING & model.model_fields.keys() and model.model_config.get("extra") != "forbid"
    ]
    assert lax == []


async def test_a_tick_that_should_only_be_tried_does_not_run(brain: Brain, tmp_path: Path) -> None:
    vaults = changed(brain.settings.vaults, folders={"w1": tmp_path})
    app = replace(brain, settings=brain.settings.model_copy(update={"vaults": vaults})).app()
    async with http(app, await brain.key(permissions=frozenset(Permission))) as client:
        wrong = await client.post("/tick", params={"dryrun": "1"})
        in_the_body = await client.post("/tick", json={"dry_run": True})
        as_a_form = await client.post("/tick", data={"dry_run": "1"})
        empty = await client.post("/tick", params={"dry_run": "1", "workspace_id": "w1"}, json={})

    assert "is unknown: there are dry_run, no_ai" in refused(wrong, 422, "dryrun")["message"]
    assert "/tick?dry_run=true" in refused(in_the_body, 422)["message"]
    refused(as_a_form, 415)
    assert (empty.status_code, empty.json()["dry_run"]) == (202, True)


@pytest.mark.parametrize(
    ("path", "body", "misspelt"),
    [
        ("halts", {"title": "stop", "scop": "project", "org": "acme", "project": "shop"}, "scop"),
        ("signals", {"source": "ci", "severity": "nuclear", "title": "stop", "haltscope": "org"}, "haltscope"),
        ("signals", {"source": "ci", "severity": "info", "title": "stop", "halt": True, "scope": "org"}, "scope"),
    ],
)
async def test_a_halt_whose_scope_is_misspelt_does_not_stop_everyone(
    path: str, body: dict[str, Any], misspelt: str, brain: Brain
) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission))) as client:
        wrong = await client.post(f"/v1/amygdala/{path}", json=body)
        halts = (await client.get("/v1/amygdala/halts")).json()["halts"]
        harmless = {"source": "ci", "severity": "warning", "title": "slow", "labels": ["ci"]}
        raised = await client.post("/v1/amygdala/signals", json=harmless)

    assert "is unknown: there are" in refused(wrong, 422, misspelt)["message"]
    assert (halts, raised.status_code) == ([], 201)
