"""What agents post belongs to their session's project, and is dated by the time they give."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.times import to_iso
from openbrain_tick.tick import tick
from tests.support.api.brain import Brain
from tests.support.api.vault import client, kept, marks, vault
from tests.support.vault.pages import HOUR, page
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.ticking import ALL, job, ports_of, vault_of

__all__ = ["kept", "vault"]


def titles(found: Any, name: str) -> list[str]:
    return [each["title"] for each in found[name]]


async def test_a_brief_of_a_project_shows_what_its_sessions_posted(kept: Brain, vault: Path) -> None:
    text = page("2026-01-01-basket", sessions=1, project="shop")
    Pages(vault).write("clusters/2026-01-01/2026-01-01-basket.md", text)
    said = {"source": "agent", "session_id": "session-0"}
    async with await client(kept) as ada:

        async def post(kind: str, content: str, **more: str) -> str:
            body = {"type": kind, "content": content, "attrs": said | more}
            return str((await ada.post("/marker", json=body)).json()["vault_path"])

        begun = kept.clock.now()
        lessons = await post("lesson", "Ask first.")
        kept.clock.advance(HOUR)
        await post("lesson", "Then look.")
        await post("lesson", "Of another project.", project="bank")
        await post("decision", "We take MariaDB.")
        await post("signal", "basket is slow")
        await tick(job(), vault_of(Pages(vault)), ports_of(kept.store, kept.clock))
        brief = (await ada.get("/v1/brain/brief", params={"project": "shop"})).json()

    assert [attrs["project"] for _, attrs, _ in marks(vault, lessons)] == ["shop", "shop", "bank"]
    assert titles(brief, "decided") == ["We take MariaDB."]
    assert titles(brief, "stuck") == ["basket is slow"]
    assert {"Ask first.", "Then look."} <= set(titles(brief, "changed"))
    assert "Of another project." not in titles(brief, "changed")
    found = await kept.store.memories.listing(visible(ALL, Criteria(), kept.clock.now()), 10)
    times = {each.content: to_iso(each.occurred_at)[:19] for each in found}
    assert (times["Ask first."], times["Then look."]) == (to_iso(begun)[:19], to_iso(begun + HOUR)[:19])


async def test_a_transcript_knows_its_project_before_any_arc_does(kept: Brain, vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-srv-shop"
    folder.mkdir(parents=True)
    (folder / "s-7.jsonl").write_text('{"type": "summary"}\n' + json.dumps({"cwd": "/srv/shop", "type": "user"}))
    (tmp_path / "s-8.jsonl").write_text(json.dumps({"cwd": "/srv/secret", "type": "user"}))
    settings = kept.settings.model_copy(
        update={"tick": kept.settings.tick.model_copy(update={"projects_dir": folder.parent})}
    )
    async with await client(dataclasses.replace(kept, settings=settings)) as ada:
        for session in ("s-7", "../s-8", "s-9"):
            post = {"type": "lesson", "content": f"of {session}", "attrs": {"session_id": session}}
            path = (await ada.post("/marker", json=post)).json()["vault_path"]

    assert [attrs.get("project") for _, attrs, _ in marks(vault, path)] == ["shop", None, None]
