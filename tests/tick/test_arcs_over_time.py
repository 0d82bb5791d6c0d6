"""Arcs of sessions over days: no arc stays active unless somebody continues it."""

import json
import os
from dataclasses import replace
from pathlib import Path

from openbrain.domain.times import to_iso
from openbrain.vault.front_matter.document import read
from openbrain_api.vaults.arcs import recent_arcs
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from tests.support.store.fixtures import START, FakeClock
from tests.support.vault.pages import HOUR, page
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.ticking import DAY, NEW, database_url, job, vault_of

__all__ = ["database_url"]


def transcript(folder: Path, name: str, hours: list[float]) -> None:
    """Write a session of the shop with a turn at each of these hours after the start of the test's clock."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "timestamp": to_iso(START + round(at * HOUR)),
            "cwd": "/srv/shop",
            "type": "user",
            "message": {"content": "please mend the broken basket of the shop"},
        }
        for at in hours
    ]
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    at = START / 1e6 + hours[-1] * 3600
    os.utime(folder / f"{name}.jsonl", (at, at))


async def test_an_arc_is_active_complete_and_stalled_as_its_sessions_go_on_and_end(
    ports: Ports, pages: Pages, clock: FakeClock, tmp_path: Path
) -> None:
    pages.write(f"{DAY}/mine.md", page("mine", created=NEW, status="active"))
    folder = tmp_path / "projects" / "shop"
    transcript(folder, "s-1", [-3, -2.9, -2.8, -2.7, -2.6])
    transcript(folder, "s-2", [-2, -1.9, -1.8, -1.7, -1.6])
    extracting = replace(ports, transcripts=folder.parent)

    async def now(hours: float) -> tuple[str, int]:
        clock.time = START + round(hours * HOUR)
        await tick(job(extract=True), vault_of(pages), extracting)
        (path,) = (path for path in pages.tree() if "please-mend" in path and path.startswith(("clusters", "left")))
        found = read(pages.read(path), path)
        turns = next(line for line in found.body.splitlines() if line.startswith("- Turns: "))
        return found.front.text("status"), int(turns.split()[2])

    assert await now(0) == ("active", 10)
    assert await now(5) == ("complete", 10)
    # The second session continues, long after the first has left the window.
    transcript(folder, "s-2", [-2, -1.9, -1.8, -1.7, -1.6, 29, 30])
    assert await now(31) == ("active", 12)
    assert await now(37) == ("complete", 12)
    await now(78)
    assert not [each for each in recent_arcs(pages.folder, 0, "") if each.stuck]
    assert await now(79) == ("stalled", 12)
    assert [each.arc.project for each in recent_arcs(pages.folder, 0, "") if each.stuck] == ["shop"]
    assert "status: active" in pages.read(f"{DAY}/mine.md")
    before = pages.tree()
    await now(79)
    assert {path for path, data in pages.tree().items() if before.get(path) != data} <= {"brain-feed/health.jsonl"}
