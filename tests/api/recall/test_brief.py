"""A brief through the API: from the database, from the vault, and only what the key may see."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import DAY
from openbrain.domain.times import to_iso
from openbrain.settings import Vaults
from openbrain_api.memories.context import gathering
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.store.fixtures import START
from tests.support.vault.pages import Vault as Pages

BRIEF = "/v1/brain/brief"
DAY_S = 86_400


@pytest.fixture
def vault(brain: Brain, tmp_path: Path) -> Path:
    folder = tmp_path / "kept"
    folder.mkdir()
    brain.settings = brain.settings.model_copy(update={"vaults": Vaults(folders={"w1": folder})})
    return folder


def page(vault: Path, path: str, status: str, days_ago: float, project: str = "shop") -> None:
    file = vault / path
    file.parent.mkdir(parents=True, exist_ok=True)
    name = file.stem
    file.write_text(f"---\ncluster_id: {name}\ntitle: Arc {name}\nstatus: {status}\nproject: {project}\n---\n", "utf-8")
    at = START / 1_000_000 - days_ago * DAY_S
    os.utime(file, (at, at))


async def asked(client: httpx.AsyncClient, **params: Any) -> Any:
    response = await client.get(BRIEF, params=params)
    assert response.status_code == 200, response.text
    return response.json()


def titles(items: Any) -> list[str]:
    return [item["title"] for item in items]


async def test_what_was_decided_is_stuck_and_changed(brain: Brain, vault: Path) -> None:
    page(vault, "clusters/2027-01-14/2027-01-14-new.md", "active", 1)
    page(vault, "clusters/2026-06-01/2026-06-01-old.md", "active", 100)
    page(vault, "clusters/2026-06-01/2026-06-01-still.md", "stalled", 100)
    page(vault, "clusters/2027-01-14/2027-01-14-gone.merged.md", "stalled", 1)
    page(vault, "amygdala/amygdala-2027-01-14-fire.md", "active", 2)
    (vault / "frontal-lobe/conscious").mkdir(parents=True)
    reference = '---\nreference: "clusters/2026-06-01/2026-06-01-still.md"\n---\n'
    (vault / "frontal-lobe/conscious/2026-06-01-still.md").write_text(reference)
    outside = '---\nreference: "../../../etc/passwd"\n---\n'
    (vault / "frontal-lobe/conscious/2026-06-01-out.md").write_text(outside)
    async with http(brain.app(), await brain.key()) as ada:
        await remembered(ada, "We take MariaDB.\nBecause.", type="decision", project="shop")
        await remembered(ada, "An old choice", type="decision", occurred_at=to_iso(START - 30 * DAY))
        await remembered(ada, "The lake is cold")
        signal = {"source": "db", "severity": "critical", "title": "Database down"}
        assert (await ada.post("/v1/amygdala/signals", json=signal)).status_code == 201

        signal_id = (await ada.get("/v1/amygdala/signals")).json()["signals"][0]["id"]
        page(vault, f"amygdala/amygdala-2027-01-15-database-down-{signal_id}.md", "active", 0)

        found = await asked(ada)
        shop = await asked(ada, project="shop", limit=1)
        all_time = await asked(ada, since="2020-01-01T00:00:00Z")

    assert titles(found["decided"]) == ["We take MariaDB."]
    assert set(titles(found["stuck"])) == {
        "Database down",
        "Arc amygdala-2027-01-14-fire",
        "Arc 2026-06-01-still",
    }
    assert titles(found["changed"]) == ["The lake is cold", "Arc 2027-01-14-new"]
    assert (found["vault"], found["more"], found["since"]) == (True, [], to_iso(START - 7 * DAY))
    assert found["data"]["decided"] == found["decided"]
    assert titles(shop["decided"]) == ["We take MariaDB."]
    assert (len(shop["stuck"]), shop["more"]) == (1, ["stuck"])
    assert titles(all_time["decided"]) == ["We take MariaDB.", "An old choice"]


async def test_what_stands_still_is_told_however_short_the_time(brain: Brain, vault: Path) -> None:
    page(vault, "clusters/2027-01-10/2027-01-10-still.md", "stalled", 4)
    page(vault, "clusters/2027-01-10/2027-01-10-done.md", "complete", 4)
    async with http(brain.app(), await brain.key()) as ada:
        found = await asked(ada, since=to_iso(START - DAY))

    assert (titles(found["stuck"]), found["changed"]) == (["Arc 2027-01-10-still"], [])


async def test_an_arc_whose_heat_alone_moved_has_not_changed(brain: Brain, vault: Path) -> None:
    names = ("2027-01-14-cools", "2027-01-14-told", "2027-01-01-leaves")
    for name in names:
        page(vault, f"clusters/{name[:10]}/{name}.md", "active", 3650)
    pages = Pages(vault)
    pages.tick(START)
    plan, _ = pages.tick(START + 3 * DAY)
    assert plan.counts["heat_changes"] == 2
    assert (vault / "left/2027-01-01-leaves.md").exists()
    told = vault / "clusters/2027-01-14/2027-01-14-told.md"
    with told.open("a", encoding="utf-8") as file:
        file.write("A person goes on.\n")
    # File times come from the real clock.
    since = datetime.now(UTC) - timedelta(days=1)
    async with http(brain.app(), await brain.key()) as ada:
        found = await asked(ada, since=since.isoformat())

    assert titles(found["changed"]) == ["Arc 2027-01-14-told"]


async def test_only_what_the_key_may_see(brain: Brain, vault: Path) -> None:
    page(vault, "clusters/2027-01-14/2027-01-14-new.md", "active", 1)
    app = brain.app()
    async with http(app, await brain.key()) as ada:
        await remembered(ada, "acme decides", type="decision", org="acme")
        await ada.post(
            "/v1/amygdala/signals", json={"source": "db", "severity": "warning", "title": "of acme", "org": "acme"}
        )
    without_vault = frozenset({Permission.BRAIN_READ})
    async with (
        http(app, await brain.key(agent="eve", orgs=("other",))) as other_org,
        http(app, await brain.key(agent="bob", permissions=without_vault)) as reader,
        http(app, await brain.key("w2")) as stranger,
        http(app, await brain.key(agent="x", permissions=frozenset({Permission.VAULT_READ}))) as keeper,
    ):
        seen = [await asked(each) for each in (other_org, reader, stranger)]
        refused(await keeper.get(BRIEF), 403)
        refused(await other_org.get(BRIEF, params={"org": "acme"}), 403)

    assert [titles(each["decided"]) for each in seen] == [[], ["acme decides"], []]
    assert [titles(each["stuck"]) for each in seen] == [[], ["of acme"], []]
    assert [(each["vault"], each["changed"]) for each in seen] == [(False, [])] * 3


async def test_by_the_client(brain: Brain) -> None:
    from openbrain.client import OpenBrain

    key = await brain.key()
    transport = httpx.ASGITransport(brain.app())
    async with OpenBrain("http://127.0.0.1", key, transport=transport) as client:
        await client.remember({"content": "We take MariaDB.", "type": "decision", "project": "shop"})
        since = datetime.fromtimestamp(START / 1_000_000, UTC) - timedelta(days=1)
        found = await client.brief(since=since, project="shop", limit=5)

    assert [each.title for each in found.decided] == ["We take MariaDB."]


async def test_halts_of_other_projects_hide_none_that_applies(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "HALTS", 2)
    async with http(brain.app(), await brain.key()) as client:
        await client.post("/v1/amygdala/halts", json={"title": "everyone stops"})
        for project in ("a", "b", "c"):
            brain.clock.advance(1)
            halt = {"title": f"{project} stops", "scope": "project", "org": "acme", "project": project}
            assert (await client.post("/v1/amygdala/halts", json=halt)).status_code == 201
        found = await asked(client, org="acme", project="shop", limit=1)
        of_one = await asked(client, org="acme", project="b")

    assert (titles(found["stuck"]), found["more"]) == (["everyone stops"], [])
    halts = [item for item in of_one["stuck"] if item["kind"] == "halt"]
    assert titles(halts) == ["b stops", "everyone stops"]
