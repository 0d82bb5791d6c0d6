"""A vault, a store and the ports of a tick, for tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.network.probes import Probes
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.ids import uuid7
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.vault import TickJob
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages.index import Index
from openbrain.vault.thresholds import SPEC
from openbrain_tick.ports import Ports
from openbrain_tick.vaults import Vault
from tests.support.store.fixtures import FakeClock
from tests.support.vault.pages import HOUR, page, signal
from tests.support.vault.pages import Vault as Pages

DAY = "clusters/2027-01-14"
NEW = "2027-01-15T07:00:00+00:00"
ALL = Viewer(workspace_id="w1", agent_id="")


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path: Path) -> str:
    """SQLite only: the store operations of a tick have contract tests on both databases."""
    return f"sqlite+aiosqlite:///{tmp_path}/store.db"


@pytest.fixture
async def ports(store: SqlStore, clock: FakeClock) -> Ports:
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=clock.now()))
    return ports_of(store, clock)


def ports_of(store: SqlStore, clock: Clock) -> Ports:
    """Return ports without model, probes and transcripts."""
    return Ports(
        store=store,
        clock=clock,
        content_policy=DetectingPolicy(),
        reasoner=None,
        prober=Probes(),
        probes={},
        prompt_chars=100_000,
        transcripts=None,
        since_h=26,
        min_turns=5,
        forget_share=0.5,
        held_us=5 * HOUR,
    )


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    made = Pages(tmp_path / "vault")
    made.write(f"{DAY}/a.md", page("a", "## Edges\n\n" + signal("bans rise"), created=NEW, status="active", joy=1))
    made.write(f"{DAY}/b.md", page("b", "<!-- @lesson -->\nAsk first.\n<!-- @/lesson -->", created=NEW))
    made.write(f"{DAY}/c.md", page("c", created=NEW))
    return made


def vault_of(pages: Pages, **more: Any) -> Vault:
    known = {"workspace_id": "w1", "folder": Folder(pages.root), "index": Index(), "thresholds": SPEC, "wait_s": 5}
    return Vault(**{**known, **more})


def job(**more: Any) -> TickJob:
    return TickJob(**{"id": uuid7(1), "workspace_id": "w1", "slot": "s", "actor": "test", **more})


def settled(tree: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in tree.items() if not path.endswith("health.jsonl")}
