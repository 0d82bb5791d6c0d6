"""Which project a file belongs to, and names that are the same on other machines."""

import json
from pathlib import Path

import pytest

from openbrain_cli.importers.projects import (
    encoded,
    portable_folder,
    portable_place,
    project_of_folder,
    repository_of,
)

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("name", "portable"),
    [
        ("-home-ada-src-shop", "~-src-shop"),
        ("-home-ada", "~"),
        ("-home-bob-src-shop", "~-src-shop"),
        ("-Users-bob-src-shop", "~-src-shop"),
        ("C--Users-bob-src-shop", "~-src-shop"),
        ("-srv-shop", "-srv-shop"),
        ("-home-adalbert-x", "~-x"),
    ],
)
def test_whose_home_it_was_does_not_matter(name: str, portable: str) -> None:
    assert portable_folder(name, HOME) == portable


@pytest.mark.parametrize(
    ("name", "project"),
    [
        ("-home-nobody-src-my-app", "my-app"),
        ("-Users-nobody-Documents-code-shop", "shop"),
        ("-home-nobody-notes", "notes"),
        ("-opt-nowhere-here", "opt-nowhere-here"),
    ],
)
def test_a_name_is_decoded_as_well_as_it_can_be(tmp_path: Path, name: str, project: str) -> None:
    assert project_of_folder(tmp_path / name, HOME) == project


def test_a_session_beside_it_knows_better(tmp_path: Path) -> None:
    folder = tmp_path / "-home-nobody-src-my-big-app"
    folder.mkdir()
    lines = [b"no json", b'{"cwd": 3}', json.dumps({"cwd": "/home/nobody/src/my-big-app/web/src"}).encode()]
    (folder / "s.jsonl").write_bytes(b"\n".join(lines))

    assert project_of_folder(folder, HOME) == "my-big-app"


def test_so_does_the_disk(tmp_path: Path) -> None:
    place = tmp_path / "deep.er" / "my_app-v2"
    place.mkdir(parents=True)
    folder = tmp_path / "claude" / encoded(str(place))

    assert project_of_folder(folder, HOME) == "my_app-v2"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("git@git.example.org:acme/shop.git", "git.example.org/acme/shop"),
        ("https://token:x@Git.example.org/acme/shop.git", "git.example.org/acme/shop"),
        ("ssh://git@git.example.org:2222/acme/shop", "git.example.org/acme/shop"),
        ("/srv/git/shop.git", ""),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_a_repository_goes_by_its_address_without_a_login(tmp_path: Path, url: str, address: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n')
    found = repository_of(tmp_path / "sub")

    assert found is not None
    assert found.address == address
    expected = f"{address}/sub" if address else (tmp_path / "sub").as_posix()
    (tmp_path / "sub").mkdir()
    assert portable_place(tmp_path / "sub", HOME) == expected


def test_a_worktree_is_its_main_checkout(tmp_path: Path) -> None:
    git = tmp_path / "shop" / ".git" / "worktrees" / "fix"
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..\n")
    (tmp_path / "shop" / ".git" / "config").write_text('[remote "origin"]\nurl = git@h:a/shop.git\n')
    tree = tmp_path / "shop-fix"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {git}\n")
    found = repository_of(tree)

    assert found is not None
    assert (found.main_root.name, found.address) == ("shop", "h/a/shop")
