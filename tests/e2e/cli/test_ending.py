"""Bulk forget, erase, delete a workspace, watch operations: as a person types it."""

from collections.abc import Iterator

import pytest

from tests.support.cli.terminal import Terminal, up


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("ending")
    with up(Terminal(home, home / "data")) as running:
        yield running


def remembered(terminal: Terminal, content: str, *more: str) -> str:
    done = terminal.run("remember", content, "--json", *more)
    assert done.code == 0, done.err
    return str(done.json["id"])


def test_erase_asks_first_and_can_be_followed(terminal: Terminal) -> None:
    memory_id = remembered(terminal, "the vault opens at noon")
    looked = terminal.run("erase", memory_id, "--dry-run")
    unasked = terminal.run("erase", memory_id)
    gone = terminal.run("erase", memory_id, "--yes", "--json")
    watched = terminal.run("operations", "watch", gone.json["operation_id"], "--json")
    shown = terminal.run("operations", "show", gone.json["operation_id"])

    assert "would be erased: the vault opens at noon" in looked.out
    assert (unasked.code, "--yes" in unasked.err) == (1, True)
    assert (gone.code, gone.json["erased"], gone.json["content"]) == (0, True, "")
    assert (watched.code, watched.json["status"]) == (0, "done")
    assert "purge" in shown.out
    assert terminal.run("show", memory_id, "--json").json["reason"] == "erased"
    assert terminal.run("operations", "list", "--kind", "purge", "--json").json["count"] == 1
    assert terminal.run("operations", "cancel", gone.json["operation_id"]).out.split()[1] == "done"


def test_forget_ends_all_that_match(terminal: Terminal) -> None:
    ids = [remembered(terminal, f"old {number}", "--project", "shop") for number in range(3)]
    kept = remembered(terminal, "kept", "--project", "web")
    matching = ("forget", "--all-matching", "--project", "shop")
    looked = terminal.run(*matching, "--dry-run")
    unasked = terminal.run(*matching)
    everything = terminal.run("forget", "--all-matching", "--yes")
    neither = terminal.run("forget")
    done = terminal.run(*matching, "--yes", "--reason", "tidy")

    assert looked.out.startswith("3 would be forgotten")
    assert all(each in looked.out for each in ids)
    assert (unasked.code, "--yes" in unasked.err) == (1, True)
    assert (everything.code, neither.code) == (1, 1)
    assert (done.code, done.out.split()[:2]) == (0, ["3", "forgotten"]), done.err
    listed = terminal.run("list", "--json").json["memories"]
    assert [each["id"] for each in listed] == [kept]
    assert terminal.run(*matching, "--yes").out.startswith("0 forgotten")


def test_a_workspace_is_deleted_with_what_it_holds(terminal: Terminal) -> None:
    assert terminal.run("workspaces", "create", "acme").code == 0
    looked = terminal.run("workspaces", "delete", "acme", "--dry-run")
    unasked = terminal.run("workspaces", "delete", "acme")
    done = terminal.run("workspaces", "delete", "acme", "--yes")

    assert looked.out.splitlines() == [line for line in looked.out.splitlines() if not line.startswith("       0")]
    assert "memories" not in looked.out, "zero counts are not listed"
    assert (unasked.code, "--yes" in unasked.err) == (1, True)
    assert (done.code, done.out.startswith("acme  deleted")) == (0, True), done.err
    assert terminal.run("workspaces", "delete", "acme", "--yes").code == 4
    assert terminal.run("workspaces", "delete", "system", "--yes").code == 1
