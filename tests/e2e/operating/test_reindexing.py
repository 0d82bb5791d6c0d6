"""Indexes rebuilt, switched, dropped and compared with the database by the installed command."""

from collections.abc import Iterator
from typing import Any

import pytest

from openbrain_cli.profile import ADMIN_KEY_FILE
from openbrain_cli.system.shell.exit_codes import NOT_ALLOWED, NOT_FOUND, REFUSED
from tests.support.cli.terminal import Terminal, up

WORDS = ("harbour", "lantern", "granite")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A system with three memories that recalls find."""
    home = tmp_path_factory.mktemp("reindexing")
    # A comparison waits for recent changes for this time; nothing here depends on its length.
    with up(Terminal(home, home / "data", {"OPENBRAIN_HOUSEKEEPING__TUNING__GRACE_S": "1"})) as terminal:
        for word in WORDS:
            done = terminal.run("remember", f"The {word} is old.", "--wait", "60")
            assert done.code == 0, done.err
        yield terminal


def indexes(terminal: Terminal) -> dict[tuple[str, str], str]:
    """Map (index, status) to name."""
    found: list[dict[str, Any]] = terminal.run("index", "list", "--json").json["generations"]
    return {(each["index"], each["status"]): each["name"] for each in found}


@pytest.mark.slow("the first in its module waits for the pipeline to start")
def test_an_index_is_made_anew_switched_back_and_dropped(running: Terminal) -> None:
    before = indexes(running)
    plan = running.run("reindex", "--dry-run", "--json").json
    assert [(each["dry_run"], each["total"], each["operation"]) for each in plan] == [(True, 3, None)] * 2
    assert indexes(running) == before

    done = running.run("reindex")
    assert done.code == 0, done.err
    after = indexes(running)
    for index in ("text", "vector"):
        assert after[index, "kept"] == before[index, "serving"]
        assert after[index, "serving"] != before[index, "serving"]
    assert WORDS[0] in running.run("recall", WORDS[0]).out

    back = running.run("index", "switch", before["text", "serving"])
    assert (back.code, "serves" in back.out) == (0, True), back.err
    refused = running.run("index", "drop", before["text", "serving"])
    assert (refused.code, "let another serve first" in refused.err) == (REFUSED, True)
    kept = indexes(running)["text", "kept"]
    assert "would be dropped" in running.run("index", "drop", kept, "--dry-run").out
    assert indexes(running)["text", "kept"] == kept
    assert "dropped" in running.run("index", "drop", kept).out
    assert ("text", "kept") not in indexes(running)
    unknown = running.run("index", "drop", kept)
    assert (unknown.code, "openbrain index list" in unknown.err) == (NOT_FOUND, True)


def test_some_are_written_again_in_place(running: Terminal) -> None:
    before = indexes(running)
    done = running.run("reindex", "--text", "--in-place", "--json")
    assert done.code == 0, done.err
    (told,) = done.json
    assert (told["operation"]["status"], told["operation"]["result"]["successes"]) == ("done", 3)
    assert indexes(running) == before
    refused = running.run("reindex", "--text", "--re-embed")
    assert (refused.code, "leave --text out" in refused.err) == (REFUSED, True)


def test_indexes_are_held_against_the_database(running: Terminal) -> None:
    for words in ((), ("--full",), ("--full", "--repair")):
        done = running.run("verify", *words)
        assert done.code == 0, done.err
        assert "equal" in done.out
    told = running.run("verify", "--json").json
    assert (told["status"], told["differences"]) == ("done", 0)


def test_a_database_that_was_put_back_is_indexed_again(running: Terminal) -> None:
    done = running.run("db", "restored", "--json")
    assert done.code == 0, done.err
    assert done.json["lifted"] == 3
    assert WORDS[1] in running.run("recall", WORDS[1]).out


@pytest.mark.parametrize("words", [("reindex",), ("verify",), ("db", "restored"), ("index", "list")])
def test_a_tenants_key_may_none_of_it(running: Terminal, words: tuple[str, ...]) -> None:
    key = running.data / "key"
    assert key.with_name(ADMIN_KEY_FILE).exists()
    done = running.run(*words, "--key-file", str(key))
    assert (done.code, done.out) == (NOT_ALLOWED, "")
    assert "workspace system" in done.err
