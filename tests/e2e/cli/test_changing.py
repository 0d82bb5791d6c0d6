"""update, history, restore, and operators' commands, as a person types them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli.terminal import Terminal, up


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home: Path = tmp_path_factory.mktemp("home")
    with up(Terminal(home, home / "data")) as terminal:
        yield terminal


def test_a_memory_changes_ends_and_comes_back(running: Terminal) -> None:
    stored = running.run("remember", "deploy on Friday", "--tag", "a", "--json").json
    changed = running.run(
        *("update", stored["id"], "--content", "-", "--no-tags", "--metadata", '{"ticket": 7}', "--if-version", "1"),
        stdin="deploy on Monday",
    )
    late = running.run("update", stored["id"], "--tag", "b", "--if-version", "1")
    nothing = running.run("update", stored["id"])
    no_object = running.run("update", stored["id"], "--metadata", "[1]")
    shown = running.run("show", stored["id"], "--json").json
    running.run("forget", stored["id"], "--reason", "a slip")
    back = running.run("restore", stored["id"], "--reason", "after all", "--wait", "30")
    again = running.run("restore", stored["id"], "--json").json
    told = running.run("history", stored["id"])
    lines = running.run("history", stored["id"], "--json").json

    assert (changed.code, changed.out) == (0, f"{stored['id']}  is version 2 now\n")
    assert (late.code, nothing.code, no_object.code) == (1, 1, 1)
    assert "read it again" in late.err
    assert [shown[name] for name in ("content", "tags", "metadata")] == ["deploy on Monday", [], {"ticket": 7}]
    assert back.out == f"{stored['id']}  is back and found\n"
    assert (again["version"], again["state"]) == (3, "indexed")
    assert [line["action"] for line in lines["history"]] == ["created", "updated", "forgotten", "restored"]
    assert "a slip" in told.out
    assert "restored" in told.out


def test_a_title_is_taken_away(running: Terminal) -> None:
    stored = running.run("remember", "the gate has a code", "--title", "Gate", "--json").json
    untitled = running.run("update", stored["id"], "--title", "", "--json")

    assert (stored["title"], untitled.code, untitled.json["title"]) == ("Gate", 0, None)


def test_restoring_onto_a_living_memory_names_it(running: Terminal) -> None:
    first = running.run("remember", "the port is 80", "--json").json
    second = running.run("remember", "the port is 443", "--supersedes", first["id"], "--json").json
    refused = running.run("restore", first["id"])

    assert refused.code == 1
    assert second["id"] in refused.err


@pytest.mark.parametrize("group", [("keys",), ("admin", "keys")])
def test_a_key_is_rotated(running: Terminal, tmp_path: Path, group: tuple[str, ...]) -> None:
    file, successor = tmp_path / "key", tmp_path / "new"
    made = running.run(*group, "create", "ci", "--rate-limit", "5000", "--write", str(file), "--json").json
    rotated = running.run(*group, "rotate", made["id"], "--overlap", "0", "--write", str(successor))
    old = running.run("list", "--key-file", str(file))
    new = running.run("list", "--key-file", str(successor))
    listed = running.run(*group, "list")
    twice = running.run(*group, "rotate", made["id"])

    assert rotated.code == 0
    assert rotated.out == f"written to {successor}\n"
    assert made["id"] in rotated.err
    assert (old.code, new.code) == (5, 0)
    assert "5000/min" in listed.out
    assert "ended" in listed.out
    assert twice.code == 1
    assert "ob_" not in listed.out + rotated.out + rotated.err


def test_a_workspace_has_quotas(running: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "key"
    made = running.run("workspaces", "create", "trial", "--max-memories", "1")
    running.run("keys", "create", "k", "--workspace", "trial", "--write", str(file))
    first = running.run("remember", "fits", "--key-file", str(file))
    full = running.run("remember", "does not fit", "--key-file", str(file))
    listed = running.run("workspaces", "list")
    changed = running.run("admin", "workspaces", "change", "trial", "--max-memories", "2", "--max-bytes", "100")
    fits = running.run("remember", "does not fit", "--key-file", str(file))
    free = running.run("workspaces", "change", "trial", "--no-quota")
    both = running.run("workspaces", "change", "trial", "--no-quota", "--max-bytes", "1")

    assert [each.code for each in (made, first, full, fits, free, both)] == [0, 0, 1, 0, 0, 1]
    assert "may hold 1 memories and holds 1" in full.err
    assert "1 of 1 memories" in listed.out
    assert changed.out == "trial  1 of 2 memories, 4 of 100 bytes\n"
    assert free.out == "trial  has no quota\n"
