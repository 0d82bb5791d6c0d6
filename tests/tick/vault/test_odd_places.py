"""A page with an odd name, or a folder that can't be written, is reported; the rest of the vault is kept by the same
tick."""

import errno
import os
from typing import Any

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, visible
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.pages import page
from tests.support.vault.ticking import ALL, DAY, NEW, database_url, job, vault_of

__all__ = ["database_url"]

NOTE = "---\ntitle: A note\ntags: [code]\n---\n\nIt moves.\n"


def told(report: dict[str, Any], path: str) -> str:
    """Return the reasons reported for a path."""
    return "; ".join(problem["reason"] for problem in report["problems"] if problem["path"] == path)


@pytest.mark.parametrize(
    ("name", "filed"), [("_.md", "untitled.md"), ("_.hidden.md", "hidden.md"), ("__plan.md", "plan.md")]
)
async def test_an_inbox_page_is_filed_under_a_name_that_counts(
    name: str, filed: str, ports: Ports, pages: Pages
) -> None:
    pages.write(f"raw/inbox/{name}", NOTE)
    await tick(job(), vault_of(pages), ports)

    assert "It moves." in pages.read(f"left/{filed}")
    assert "brain-feed/hot-arcs.md" in pages.tree()


@pytest.mark.parametrize("inside", [True, False])
async def test_a_linked_folder_stops_neither_the_tick_nor_the_inbox(inside: bool, ports: Ports, pages: Pages) -> None:
    target = pages.root / "elsewhere" if inside else pages.root.parent / "outside"
    target.mkdir()
    (pages.root / "left").symlink_to(target)
    pages.write("raw/inbox/note.md", NOTE)
    cold = "clusters/2026-01-02/2026-01-02-old.md"
    pages.write(cold, page("2026-01-02-old", created="2026-01-02T10:00:00Z"))
    report = await tick(job(), vault_of(pages), ports)

    assert (pages.read("raw/inbox/note.md"), list(target.iterdir())) == (NOTE, [])
    assert "can't be filed" in told(report, "raw/inbox/note.md")
    assert "can't graduate" in told(report, cold)
    assert "heat: 6\n" in pages.read(f"{DAY}/a.md"), "the other pages are kept"


@pytest.mark.parametrize("name", ["brain-feed", "left", "left/reference", "frontal-lobe/conscious"])
async def test_a_file_in_place_of_a_folder_is_reported_and_the_rest_is_kept(
    name: str, ports: Ports, pages: Pages
) -> None:
    pages.write(name, "By hand.\n")
    pages.write("raw/inbox/note.md", NOTE.replace("code", "reference"))
    pages.write(f"{DAY}/hot.md", page("hot", created=NEW, status="active", tools=4000))
    report = await tick(job(), vault_of(pages), ports)

    assert pages.read(name) == "By hand.\n"
    assert "is a file where a folder belongs: rename it" in str(report["problems"])
    assert "heat: 9\n" in pages.read(f"{DAY}/hot.md")
    assert ("brain-feed/hot-arcs.md" in pages.tree()) is (name != "brain-feed")
    assert not (pages.root / ".openbrain" / "journal").exists(), "other writers may write"


async def test_a_linked_page_of_the_feed_is_left_alone_and_reported(ports: Ports, pages: Pages) -> None:
    pages.write("notes.md", "By hand.\n")
    (pages.root / "brain-feed").mkdir()
    (pages.root / "brain-feed" / "hot-arcs.md").symlink_to(pages.root / "notes.md")
    report = await tick(job(), vault_of(pages), ports)

    assert pages.read("notes.md") == "By hand.\n"
    assert "a link" in told(report, "brain-feed/hot-arcs.md")
    assert "brain-feed/signals.md" in pages.tree()


async def test_two_pages_with_the_longest_name_do_not_stop_the_tick(ports: Ports, pages: Pages) -> None:
    name = "n" * 252 + ".md"
    pages.write(f"left/{name}", page("n", created=NEW))
    pages.write(f"raw/inbox/{name}", NOTE)
    report = await tick(job(), vault_of(pages), ports)

    assert pages.read(f"raw/inbox/{name}") == NOTE
    assert "name too long" in told(report, f"raw/inbox/{name}")


async def lessons(store: SqlStore, ports: Ports) -> list[str]:
    found = await store.memories.listing(visible(ALL, Criteria(), ports.clock.now()), 100)
    return sorted(memory.content for memory in found)


@pytest.mark.parametrize("how", ["linked", "oddly named", "unreadable"])
async def test_a_folder_that_is_not_read_has_not_lost_its_lessons(
    how: str, ports: Ports, pages: Pages, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pages.root / "left" / "reference"
    for name in ("arc", "note"):
        text = f"<!-- @lesson -->\nThe {name} says so.\n<!-- @/lesson -->\n"
        pages.write(f"left/reference/{name}.md", page(name, text, created=NEW) if name == "arc" else text)
    await tick(job(), vault_of(pages), ports)
    assert await lessons(store, ports) == ["Ask first.", "The arc says so.", "The note says so."]

    if how == "unreadable":
        listed = os.scandir

        def scandir(path: str) -> Any:
            if path.endswith("reference/"):
                raise OSError(errno.EIO, "Input/output error")
            return listed(path)

        monkeypatch.setattr(os, "scandir", scandir)
    else:
        away = folder.rename(pages.root / "left" / "f\u200d" if how == "oddly named" else pages.root.parent / "away")
        if how == "linked":
            folder.symlink_to(away)
    pages.write(f"{DAY}/b.md", page("b", created=NEW))
    report = await tick(job(slot="next"), vault_of(pages), ports)

    assert report["problem_count"] == 1, "the folder is reported"
    assert await lessons(store, ports) == ["The arc says so.", "The note says so."], "b.md was read, and lost its own"
