"""A page's time is that of its last content: changes of heat, graduation and removing ended signals do not make it
newer."""

import os
import time
from pathlib import Path

import pytest

from openbrain.vault.pages.arcs import identity
from openbrain.vault.pages.index import Index
from tests.support.vault.pages import DAY, NOW, Vault, page, signal

ARC = "clusters/2026-11-20/2026-11-20-arc.md"
OTHER = "clusters/2026-11-20/2026-11-20-other.md"
LONG_AGO_NS = 1_500_000_000_000_000_000


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """A vault with two arcs that a person wrote long ago."""
    vault = Vault(tmp_path / "vault")
    for path, body in ((ARC, signal("Down")), (OTHER, "")):
        vault.write(path, page(Path(path).stem, body, created="2026-11-20T10:00:00Z", status="active"))
        as_of_long_ago(vault, path)
    return vault


def as_of_long_ago(vault: Vault, path: str) -> None:
    os.utime(vault.root / path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def is_news(vault: Vault, path: str) -> bool:
    return (vault.root / path).stat().st_mtime_ns > LONG_AGO_NS + 60 * 1_000_000_000


def test_heat_alone_is_no_news_and_another_index_still_sees_it(vault: Vault) -> None:
    other = Index(clock_ns=lambda: time.time_ns() + 3_600_000_000_000)
    other.scan(vault.folder)
    plan, _ = vault.tick()
    assert plan.counts["heat_changes"] == 2
    assert not is_news(vault, ARC)
    vault.tick(NOW + DAY)
    assert not is_news(vault, ARC)
    assert other.scan(vault.folder).pages == vault.scan().pages == vault.index.scan(vault.folder).pages


def test_what_somebody_said_is_news_though_heat_moves_with_it(vault: Vault) -> None:
    plan, _ = vault.tick(ended={identity("auth-broker", "Down"): "mended"})
    assert (plan.counts["signals_ended"], plan.counts["heat_changes"]) == (1, 2)
    assert (is_news(vault, ARC), is_news(vault, OTHER)) == (True, False)


def test_what_is_said_after_heat_moved_is_news(vault: Vault) -> None:
    """As when a model's answer is planned on top of the keeper's plan."""
    plan, _ = vault.plan()
    plan.edit(plan.pages[ARC], {"summary": "It was down."})
    assert {change.path: change.time_of for change in plan.changes() if change.path in {ARC, OTHER}} == {
        ARC: None,
        OTHER: OTHER,
    }


def test_the_burial_of_what_is_over_is_no_news(vault: Vault) -> None:
    vault.tick(ended={identity("auth-broker", "Down"): "mended"})
    as_of_long_ago(vault, ARC)
    plan, _ = vault.tick(NOW + DAY)
    assert plan.counts["signals_removed"] == 1
    assert not is_news(vault, ARC)


def test_an_arc_that_graduates_is_as_old_as_it_was(vault: Vault) -> None:
    """Also if its name must first be written into its front matter."""
    vault.write(OTHER, "---\ncreated: 2026-11-20\n---\nText\n")
    as_of_long_ago(vault, OTHER)
    plan, _ = vault.tick(NOW + 30 * DAY)
    assert plan.counts["graduations"] == 2
    assert "cluster_id" in vault.read("left/2026-11-20-other.md")
    assert not is_news(vault, "left/2026-11-20-arc.md")
    assert not is_news(vault, "left/2026-11-20-other.md")
