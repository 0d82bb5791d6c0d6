"""openbrain vault, as a person types it."""

import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from openbrain import settings
from openbrain.domain.errors import Invalid, NotFound
from openbrain.ports.store.operations import Leases
from openbrain.vault.files.folder import Folder
from openbrain_cli import options
from openbrain_cli.vault import cluster as clustering
from openbrain_cli.vault.vault import app
from openbrain_tick.plan.extract import Session
from openbrain_tick.plan.plan import Plan

SAMPLES = Path(__file__).parents[2] / "samples" / "vault"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("OPENBRAIN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENBRAIN_DATA_DIR", str(tmp_path / "data"))
    settings.loaded.cache_clear()
    yield
    settings.loaded.cache_clear()


def typed(*words: str, stdin: bytes = b"") -> Result:
    result = CliRunner().invoke(app, list(words), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_vault_is_made_once_and_what_is_there_stays(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    first = json.loads(typed("init", str(root), "--json").stdout)
    (root / "README.md").write_text("mine", encoding="utf-8")
    again = json.loads(typed("init", str(root), "--json").stdout)

    assert "frontal-lobe/conscious" in first["made"]
    assert (root / "brain-feed").is_dir()
    assert list((root / "brain-feed").iterdir()) == []
    assert (again["made"], (root / "README.md").read_text(encoding="utf-8")) == ([], "mine")


def test_a_bundle_becomes_arcs_once(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    typed("init", str(root))
    bundle = str(SAMPLES / "bundle.json")

    planned = json.loads(typed("cluster", "--vault", str(root), "--bundle", bundle, "--dry-run", "--json").stdout)
    assert (len(planned["created"]), list((root / "clusters").iterdir())) == (3, [])
    made = typed("cluster", "--vault", str(root), stdin=(SAMPLES / "bundle.json").read_bytes())
    assert sorted(made.stdout.split()[1::2]) == sorted(planned["created"])
    assert all((root / path).is_file() for path in planned["created"])
    assert typed("cluster", "--out-dir", str(root / "clusters" / "2026-03-02"), "--bundle", bundle).stdout == ""


@pytest.mark.parametrize("has_run", [True, False])
def test_the_default_vault_of_this_machine_has_one_writer_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_run: bool
) -> None:
    locked: list[str] = []

    @asynccontextmanager
    async def writer(_: Leases | None, workspace_id: str, folder: Folder, *, wait_s: float) -> AsyncIterator[None]:
        assert folder.root == root.resolve()
        locked.append(workspace_id)
        yield

    monkeypatch.setattr("openbrain_cli.vault.cluster.vault_writer", writer)
    root = tmp_path / "data" / "vault"
    typed("init", str(root))
    if has_run:
        (root.parent / "truth.sqlite3").touch()
    typed("cluster", "--vault", str(root), stdin=b'{"sessions": []}')

    assert locked == ["default" if has_run else ""]


def test_a_page_that_is_edited_meanwhile_is_planned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "vault"
    typed("init", str(root))
    bundle = json.loads((SAMPLES / "bundle.json").read_bytes())
    first = json.dumps({**bundle, "sessions": bundle["sessions"][1:2]}).encode()
    (path,) = typed("cluster", "--vault", str(root), stdin=first).stdout.split()[1:]
    planned = clustering._planned

    def edited(folder: Folder, sessions: Sequence[Session]) -> Plan:
        plan = planned(folder, sessions)
        monkeypatch.setattr(clustering, "_planned", planned)
        page = root / path
        page.write_text(page.read_text(encoding="utf-8") + "\nMine.\n", encoding="utf-8")
        return plan

    monkeypatch.setattr(clustering, "_planned", edited)
    typed("cluster", "--vault", str(root), stdin=json.dumps(bundle).encode())

    text = (root / path).read_text(encoding="utf-8")
    assert ("Mine." in text, "0a1b2c3d-0002" in text) == (True, True)


def test_what_extract_prints_cluster_reads(tmp_path: Path) -> None:
    (tmp_path / "projects" / "p").mkdir(parents=True)
    printed = typed("extract", "--since", "24h", "--projects-dir", str(tmp_path / "projects")).stdout
    root = tmp_path / "vault"
    typed("init", str(root))

    assert typed("cluster", "--vault", str(root), stdin=printed.encode()).exit_code == 0
    assert json.loads(printed)["sessions"] == []


def test_what_can_not_be_done_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="vault init"):
        typed("cluster", "--vault", str(tmp_path / "none"), stdin=b"{}")
    with pytest.raises(Invalid, match="name the vault"):
        typed("cluster", "--out-dir", str(tmp_path), stdin=b"{}")
    with pytest.raises(Invalid):
        typed("cluster", "--vault", str(tmp_path), stdin=b"")
    with pytest.raises(NotFound, match="there is no file"):
        typed("cluster", "--vault", str(tmp_path), "--bundle", str(tmp_path / "none"))
    with pytest.raises(Invalid, match="since"):
        typed("extract", "--since", "soon", "--projects-dir", str(tmp_path))


def test_a_bundle_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "FILE_BYTES", 1 << 20)
    endless = Path("/dev/zero")
    with pytest.raises(Invalid, match="/dev/zero has more than 1 MiB"):
        typed("cluster", "--vault", str(tmp_path), "--bundle", str(endless))
    with pytest.raises(Invalid, match="standard input has more than 1 MiB"):
        typed("cluster", "--vault", str(tmp_path), stdin=bytes((1 << 20) + 1))
