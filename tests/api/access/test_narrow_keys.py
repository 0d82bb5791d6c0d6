"""Limits of a key: it can't grant more than it has, end signals through a page, or learn of other orgs' agents."""

from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.settings.tuning import ServerTuning
from openbrain.vault.front_matter.document import read
from tests.support.api.brain import Brain, http

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALL = frozenset(Permission)
KEY = {"name": "n", "permissions": ["brain.read"]}
MITIGATES = ("mitigates: [database]", "'mitigates': [database]", '"mitigates": database', "mitigates:\n  - database")
PAGE = "---\nstatus: resolved\n{}\n---\n# Over\n\nAll is well. {}\n"


@pytest.mark.parametrize(("own", "most"), [(None, 60), (20, 20), (500, 500)])
async def test_an_admins_keys_may_ask_for_no_more_than_his_own(module_brain: Brain, own: int | None, most: int) -> None:
    server = module_brain.settings.server.model_copy(
        update={"rate_per_minute": 60, "tuning": ServerTuning(rate_burst=500)}
    )
    settings = module_brain.settings.model_copy(update={"server": server})
    workspace = await module_brain.new_workspace()
    admin = await module_brain.key(workspace, permissions=ALL, rate_limit=own)
    root = await module_brain.key("system", permissions=ALL, rate_limit=own)
    app = module_brain.app(settings=settings)
    async with http(app, admin) as client:
        for asked, granted in ((most, most), (1, 1), (None, own if own and own < 60 else None)):
            made = await client.post("/v1/admin/keys", json={**KEY, "rate_limit": asked})
            assert (made.status_code, made.json()["rate_limit"]) == (201, granted)
        for asked in (most + 1, 10_000_000):
            refused = await client.post("/v1/admin/keys", json={**KEY, "rate_limit": asked})
            assert (refused.status_code, refused.json()["field"]) == (422, "rate_limit")
            assert str(most) in refused.json()["message"]
    async with http(app, root) as client:
        body = {**KEY, "rate_limit": 10_000_000, "workspace_id": workspace}
        assert (await client.post("/v1/admin/keys", json=body)).json()["rate_limit"] == 10_000_000


@pytest.mark.parametrize("line", MITIGATES)
@pytest.mark.parametrize("may", [False, True])
async def test_a_page_ends_signals_where_its_writer_may(module_brain: Brain, line: str, may: bool) -> None:
    permissions = {Permission.VAULT_WRITE} | ({Permission.SIGNAL_ACK} if may else set())
    key = await module_brain.key(permissions=frozenset(permissions))
    folder: Path = module_brain.settings.vaults.folders["w1"]
    async with http(module_brain.app(), key) as client:
        sent: list[Any] = [
            await client.post("/vault/write_inbox", json={"content": PAGE.format(line, may)}),
            await client.post("/ingest", data={"message": PAGE.format(line, f"{may} too")}),
        ]
    for answer in sent:
        assert answer.status_code in (200, 201), answer.text
        told = answer.json()
        page = read((folder / (told.get("vault_path") or told["vault_paths"][0])).read_text(), "page.md")
        assert ("mitigates" in page.front) is may
        assert "mitigates" not in page.body
        assert page.front.get("status") == "resolved"


async def test_nobody_hears_of_the_agents_of_other_orgs(module_brain: Brain) -> None:
    workspace = await module_brain.new_workspace()
    app = module_brain.app()
    keys = {
        "all": await module_brain.key(workspace, "root", permissions=ALL),
        "ada": await module_brain.key(workspace, "ada", orgs=("a",), without_org=False),
        "bob": await module_brain.key(workspace, "bob", orgs=("b",), without_org=False),
        "cy": await module_brain.key(workspace, "cy", orgs=("b",), without_org=False),
    }
    clients = {name: http(app, key) for name, key in keys.items()}
    for name, org in (("ada", "a"), ("bob", "b"), ("cy", "b")):
        await clients[name].get("/v1/amygdala/state", params={"org": org, "cursor": 0})
    await module_brain.presence()
    halt = (await clients["all"].post("/v1/amygdala/halts", json={"title": "all stop"})).json()
    path = f"/v1/amygdala/halts/{halt['id'] if 'id' in halt else halt['halt']['id']}"
    assert (await clients["cy"].post(f"{path}/ack", json={})).status_code == 200

    seen = {}
    for name, client in clients.items():
        listening = (await client.get("/v1/amygdala/subscribers")).json()["subscribers"]
        first = (await client.get("/v1/amygdala/subscribers", params={"limit": 1})).json()
        told = (await client.get(path)).json()
        agents = [each["agent_id"] for each in listening]
        acks = [each["agent_id"] for each in told["acks"]]
        seen[name] = (agents, told["missing"], acks, told["listening"], first["subscribers"][0]["agent_id"])
        await client.aclose()

    assert seen["ada"] == (["ada"], ["ada"], [], 1, "ada")
    assert seen["bob"] == (["bob", "cy"], ["bob"], ["cy"], 2, "bob")
    assert seen["all"][1:] == (["ada", "bob"], ["cy"], 3, "ada")
