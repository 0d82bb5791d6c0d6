"""A tick with extraction: sessions become arcs with their steps; the store's alarms get their arcs."""

import errno
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.events.data import TickRequested
from openbrain.domain.events.envelope import CloudEvent, encode
from openbrain.domain.memory import DAY
from openbrain.domain.signals.values import Raise, Severity, Step
from openbrain.domain.times import from_datetime
from openbrain.ports.store.signals import SignalChange
from openbrain.ports.store.vault import TickJob, TickState
from openbrain_tick.handlers.tick_requested import handle
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from tests.support.store.fixtures import FakeClock
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.ticking import ALL, database_url, job, vault_of

__all__ = ["database_url"]

SAMPLES = Path(__file__).parents[1] / "samples" / "vault"
EVENING = from_datetime(datetime(2026, 3, 2, 13, 0, tzinfo=UTC))


@pytest.fixture
def empty(tmp_path: Path) -> Pages:
    return Pages(tmp_path / "vault")


@pytest.fixture
def extracting(ports: Ports, tmp_path: Path, clock: FakeClock) -> Ports:
    clock.time = EVENING
    folder = shutil.copytree(SAMPLES / "projects", tmp_path / "projects", copy_function=shutil.copyfile)
    return replace(ports, transcripts=folder)


async def test_sessions_become_arcs_with_their_steps(extracting: Ports, empty: Pages) -> None:
    report = await tick(job(extract=True), vault_of(empty), extracting)
    tree = empty.tree()
    again = await tick(job(extract=True, slot="later"), vault_of(empty), extracting)

    stats = report["phases"]["deterministic"]["stats"]
    assert (stats["clusters_created"], stats["templates_written"], stats["arcs_scanned"]) == (3, 1, 3)
    (checkout,) = [path for path in tree if path.startswith("clusters/") and "the-checkout" in path]
    assert "\n| 4 | Bash | command: pytest -q |\n" in empty.read(checkout)
    assert "The checkout answers 500" in empty.body("hot-arcs.md")
    assert again["changes"] == {"written": 0, "removed": 0, "paths": []}
    assert (report["phases"]["extract"]["sessions"], empty.tree()) == (4, tree)


async def test_without_extraction_no_transcript_becomes_an_arc(extracting: Ports, empty: Pages) -> None:
    await tick(job(), vault_of(empty), extracting)

    assert not [path for path in empty.tree() if path.startswith("clusters/")]


async def test_a_folder_of_transcripts_that_is_gone_stops_no_tick_and_loses_no_session(
    extracting: Ports, empty: Pages, store: SqlStore, clock: FakeClock, tmp_path: Path
) -> None:
    async def scheduled(day: int) -> dict[str, Any]:
        clock.time = EVENING + day * DAY
        data = TickRequested(workspace_id="w1", slot=f"day {day}", extract=True)
        raw = encode("tick.requested", data, event_id=f"e{day}", at=1)
        event = CloudEvent[TickRequested].model_validate_json(raw)
        await handle(event, ticks=store.ticks, clock=clock, work=works, holder="one", hold_s=30)
        (last,) = await store.ticks.ticks("w1", 1)
        done = await store.ticks.tick("w1", last.job.id)
        assert done is not None
        assert (done.state, done.error) == (TickState.COMPLETED, "")
        return dict(done.report)

    async def works(wanted: TickJob) -> dict[str, Any]:
        return await tick(wanted, vault_of(empty), extracting)

    assert (await scheduled(-1))["phases"]["extract"]["sessions"] == 0
    (tmp_path / "projects").rename(tmp_path / "unmounted")
    first, second = await scheduled(0), await scheduled(3)
    (tmp_path / "unmounted").rename(tmp_path / "projects")
    third = await scheduled(4)

    assert "no folder of transcripts" in first["phases"]["extract"]["error"]
    assert "brain-feed/health.jsonl" in first["changes"]["paths"], "the vault is kept"
    assert second["phases"]["extract"]["error"]
    assert third["phases"]["extract"]["sessions"] == 4, "those of four days ago too"


@pytest.mark.parametrize("name", ["projects", "s.jsonl"])
async def test_transcripts_that_may_not_be_read_stop_no_tick(
    name: str, extracting: Ports, empty: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "projects" / "closed").mkdir()
    (tmp_path / "projects" / "closed" / "s.jsonl").touch()

    def closed(method: str) -> None:
        real = getattr(Path, method)

        def refused(path: Path, **more: Any) -> Any:
            if path.name == name:
                raise PermissionError(errno.EACCES, "Permission denied")
            return real(path, **more)

        monkeypatch.setattr(Path, method, refused)

    for method in ("is_dir", "iterdir", "stat"):
        closed(method)
    report = await tick(job(extract=True), vault_of(empty), extracting)

    extract = report["phases"]["extract"]
    assert ("can't be read" in extract.get("error", "")) is (name == "projects")
    assert extract.get("unreadable") == (None if name == "projects" else 1)
    assert "brain-feed/health.jsonl" in report["changes"]["paths"]


async def test_an_alarm_has_an_arc_as_long_as_it_burns(
    ports: Ports, empty: Pages, store: SqlStore, clock: FakeClock
) -> None:
    burning = Raise(
        workspace_id="w1",
        source="db",
        severity=Severity.CRITICAL,
        title="Database down",
        content="nothing answers",
        actor="ada",
        at=clock.now(),
    )
    (outcome,) = await store.signals.raise_signals([burning])
    assert outcome.signal is not None
    first = await tick(job(), vault_of(empty), ports)
    again = await tick(job(), vault_of(empty), ports)
    (path,) = [each for each in empty.tree() if each.startswith("amygdala/")]

    assert first["phases"]["deterministic"]["stats"]["incidents_opened"] == 1
    assert again["changes"]["written"] == 0
    assert "Database down" in empty.body("amygdala-active.md")
    assert len((await store.signals.present(ALL)).signals) == 1

    change = SignalChange(
        workspace_id="w1", step=Step.RESOLVED, viewer=ALL, actor="ada", signal_id=outcome.signal.id, note="restarted"
    )
    await store.signals.change_signal(change)
    closed = await tick(job(), vault_of(empty), ports)

    assert closed["phases"]["deterministic"]["stats"]["incidents_closed"] == 1
    assert "status: resolved\n" in empty.read(path)
    assert "resolved by ada: restarted" in empty.read(path)
    assert "brain-feed/amygdala-active.md" not in empty.tree()
    assert (await tick(job(), vault_of(empty), ports))["changes"]["written"] == 0
