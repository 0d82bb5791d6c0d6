"""Hot arcs in the feed cite the memories that were made of them."""

from pathlib import Path

from openbrain.ports.store.vault import VaultMemory
from openbrain.settings import Vaults
from tests.support.api.brain import Brain, http, remembered

TABLE = """---
id: hot-arcs-2027-01-15
title: Active Hot Arcs
---

## Hot Arcs

| Arc | Heat | Region | Status | Title |
|---|---|---|---|---|
| [[2027-01-14-vouchers]] | 7 | left-hemisphere | active | Vouchers |
| 2027-01-14-other | 5 | left-hemisphere | active | Other |
"""


async def test_the_feed_cites_living_memories_that_the_caller_sees(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "kept" / "brain-feed").mkdir(parents=True)
    (tmp_path / "kept" / "brain-feed" / "hot-arcs.md").write_text(TABLE, encoding="utf-8")
    brain.settings = brain.settings.model_copy(update={"vaults": Vaults(folders={"w1": tmp_path / "kept"})})
    app = brain.app()
    async with http(app, await brain.key()) as ada, http(app, await brain.key(agent="bob")) as bob:
        before = (await ada.get("/feed")).json()["hot_arcs"]
        open_one, gone = await remembered(ada, "clamp at zero", "round up")
        (own,) = await remembered(ada, "my own", memory_scope="agent")
        (other,) = await remembered(ada, "of the other arc")
        await brain.store.vault.record_vault_memories(
            "w1",
            [
                VaultMemory(arc=arc, marker=str(number), memory_id=memory_id, content_hash="")
                for number, (arc, memory_id) in enumerate(
                    [
                        ("2027-01-14-vouchers", open_one),
                        ("2027-01-14-vouchers", gone),
                        ("2027-01-14-vouchers", own),
                        ("2027-01-14-other", other),
                        ("2026-01-01-cold", other),
                    ]
                )
            ],
            (),
        )
        assert (await ada.delete(f"/v1/brain/memories/{gone}")).status_code == 200
        seen = [(await each.get("/feed")).json()["hot_arcs"][0] for each in (ada, bob)]

    assert "memories" not in before[0]["metadata"]
    assert seen[0]["metadata"]["memories"] == {
        "2027-01-14-vouchers": sorted([open_one, own]),
        "2027-01-14-other": [other],
    }
    assert seen[1]["metadata"]["memories"] == {"2027-01-14-vouchers": [open_one], "2027-01-14-other": [other]}
    assert {**seen[0], "metadata": before[0]["metadata"]} == before[0]
