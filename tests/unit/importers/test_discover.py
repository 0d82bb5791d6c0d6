"""What --discover finds in a home folder, and what may be named as a path."""

import json
from pathlib import Path

import pytest

from openbrain.domain.errors import Invalid
from openbrain_cli.importers.locations.default_locations import everywhere
from openbrain_cli.importers.locations.scanning import Client, Homes, Seen, Wanted, gather, look, sources
from openbrain_cli.memories.transfer.tables import tables
from tests.support.cli import import_samples, memory_samples
from tests.support.cli.memory_samples import copy_samples


def seen_in(home: Path, here: Path | None = None) -> dict[str, set[str]]:
    """Clients by the path below the home folder."""
    seen: list[Seen] = []
    gather(everywhere(Homes(home=home, claude=home / ".claude", here=here or home)), seen=seen.append)
    found: dict[str, set[str]] = {}
    for each in seen:
        found.setdefault(each.path.relative_to(home).as_posix(), set()).add(each.client)
    return found


def test_everything_of_a_home_is_found_once(tmp_path: Path) -> None:
    home = memory_samples.lay_out(tmp_path / "home")
    for client, below in (
        ("codex", "."),
        ("hermes", "."),
        ("cursor", "src"),
        ("openclaw", ".openclaw"),
        ("obsidian", "Documents"),
        ("basic-memory", "kb"),
    ):
        copy_samples(import_samples.SAMPLES / client, home / below)
    (home / ".basic-memory").mkdir()
    (home / ".basic-memory" / "config.json").write_text(json.dumps({"projects": {"main": str(home / "kb/notes")}}))
    (home / ".gemini").mkdir()
    (home / ".gemini" / "GEMINI.md").write_text("# Everywhere\nBe brief.")
    (home / ".copilot" / "instructions").mkdir(parents=True)
    (home / ".copilot" / "instructions" / "go.instructions.md").write_text('---\napplyTo: "**/*.go"\n---\nGo on.')

    assert seen_in(home, here=home / "src" / "shop") == {
        ".claude": {"claude"},
        ".codex": {"agents"},
        ".codex/memories": {"codex"},
        ".gemini": {"gemini"},
        ".copilot": {"copilot"},
        ".hermes/memories": {"hermes"},
        ".openclaw/workspace": {"openclaw"},
        "Documents/vault": {"obsidian"},
        "kb/notes": {"basic-memory"},
        "src/shop": {"claude", "agents", "cursor"},
    }


def test_projects_of_others_and_hidden_folders_are_not_walked(tmp_path: Path) -> None:
    for place in ("a/b/c/d/e/deep", "node_modules/dep", ".cache/x", "work/ok"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "AGENTS.md").write_text("# A\ntext")

    assert seen_in(tmp_path) == {"work/ok": {"agents"}}


def test_an_empty_home_has_nothing(tmp_path: Path) -> None:
    assert seen_in(tmp_path) == {}


def test_vaults_that_obsidian_knows_of_wherever_they_are(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config" / "obsidian").mkdir(parents=True)
    copy_samples(import_samples.SAMPLES / "obsidian", tmp_path / "disk")
    known = {"vaults": {"1": {"path": str(tmp_path / "disk" / "vault")}, "2": {"path": "/gone"}, "3": "x"}}
    (home / ".config" / "obsidian" / "obsidian.json").write_text(json.dumps(known))
    scan = gather(everywhere(Homes(home=home, claude=home / ".claude", here=home)))

    assert {found.client for found in scan.found} == {"obsidian"}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.zip", b"PK\x03\x04", "is a ZIP archive: unpack it, and name the folder"),
        ("a.pdf", b"%PDF", "is no notes"),
        ("a", b"text", "is no notes"),
    ],
)
def test_what_can_not_be_imported_says_why(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    scan = look([tmp_path / name], import_samples.homes(tmp_path))

    assert (scan.found, [note.reason for note in scan.notes]) == ((), [reason])


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="is not there"):
        list(sources([tmp_path / "gone"], Wanted(homes=import_samples.homes(tmp_path))))


def test_a_repository_is_no_folder_of_notes_unless_told_so(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "README.md").write_text("# Readme\ntext")
    homes = import_samples.homes(tmp_path)

    assert look([tmp_path / "repo"], homes).found == ()
    assert [each.client for each in look([tmp_path / "repo"], homes, Client.MARKDOWN).found] == ["markdown"]


def test_a_dated_file_among_claudes_memories_is_claudes(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "-home-ada-shop" / "memory"
    folder.mkdir(parents=True)
    (folder / "2026-01-02-notes.md").write_text("# Notes\ntext")
    homes = import_samples.homes(tmp_path)

    for path in (tmp_path, folder.parent, folder / "2026-01-02-notes.md"):
        assert [each.client for each in look([path], homes).found] == ["claude"], path


def test_a_vault_with_a_memory_file_is_a_vault(tmp_path: Path) -> None:
    copy_samples(import_samples.SAMPLES / "obsidian", tmp_path)
    (tmp_path / "vault" / "MEMORY.md").write_text("# Memory\ntext")

    assert {each.client for each in look([tmp_path / "vault"], import_samples.homes(tmp_path)).found} == {"obsidian"}


def test_one_clients_files_among_those_of_others(tmp_path: Path) -> None:
    for client in ("cursor", "gemini", "windsurf", "copilot"):
        samples = import_samples.SAMPLES / client
        copy_samples(next(samples.iterdir()), tmp_path / "all")
    homes = import_samples.homes(tmp_path)

    assert {each.client for each in look([tmp_path / "all"], homes).found} == {
        "cursor",
        "gemini",
        "windsurf",
        "copilot",
    }
    for client in (Client.CURSOR, Client.WINDSURF):
        assert {each.client for each in look([tmp_path / "all"], homes, client).found} == {client}


@pytest.mark.parametrize("client", [Client.AUTO, Client.LETTA])
def test_a_table_that_is_missing_is_not_said_to_be_of_another_kind(client: Client, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"missing\.sql is not there"):
        tables([tmp_path / "missing.sql"], "", client)
