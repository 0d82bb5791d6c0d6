"""`openbrain export`, and `openbrain import` of its file, as a person types them."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli.terminal import Terminal, up


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("home")
    with up(Terminal(home, home / "data")) as running:
        for number in range(3):
            assert running.run("remember", f"What we learned on day {number}.", "--tag", f"d{number}").code == 0
        yield running


def test_out_packed_cut_and_in_again(terminal: Terminal) -> None:
    done = terminal.run("export", "all.ndjson")
    assert (done.code, done.out) == (0, "all.ndjson: 3 memories, 3 lines of history\n"), done.err
    file = terminal.home / "all.ndjson"
    assert file.stat().st_mode & 0o777 == 0o600
    assert not list(terminal.home.glob("*.part"))

    packed = terminal.run("export", "all.gz", "--gzip", "--json")
    assert packed.json == {"file": "all.gz", "memories": 3, "history": 3, "lineage": 0, "beside": 0}
    assert len(gzip.decompress((terminal.home / "all.gz").read_bytes()).splitlines()) == len(
        file.read_bytes().splitlines()
    )

    again = terminal.run("export", "all.ndjson")
    assert (again.code, "already exists" in again.err) == (6, True)

    for name in ("all.ndjson", "all.gz"):
        known = terminal.run("import", name, "--json")
        assert (known.code, known.json["created"], known.json["present"]) == (0, 0, 3), known.err

    lines = file.read_bytes().splitlines(keepends=True)
    (terminal.home / "cut.ndjson").write_bytes(b"".join(lines[:3]) + lines[3][:40])
    cut = terminal.run("import", "cut.ndjson")
    assert (cut.code, "it was cut off" in cut.err) == (1, True)
    as_far = terminal.run("import", "cut.ndjson", "--incomplete", "--dry-run")
    assert (as_far.code, as_far.out.splitlines()[0]) == (0, "2 already there"), as_far.err


def test_another_workspace_gets_it_as_it_was(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "all.ndjson"
    assert terminal.run("export", str(file), "--tag", "d1").code == 0
    assert terminal.run("workspaces", "create", "second").code == 0
    allowed = [word for name in ("admin", "brain.read", "brain.write") for word in ("--permission", name)]
    key = ("--workspace", "second", "--write", str(tmp_path / "key"))
    made = terminal.run("keys", "create", "mover", *key, *allowed)
    assert made.code == 0, made.err
    second = ("--key-file", str(tmp_path / "key"))

    dry = terminal.run("import", str(file), "--dry-run", *second)
    assert dry.out.splitlines() == [
        "1 created, 1 lines of history (as they were)",
        "nothing was changed: leave out --dry-run to do it",
    ]
    assert terminal.run("import", str(file), *second).out == "1 created, 1 lines of history (as they were)\n"
    assert terminal.run("import", str(file), *second).out == "1 already there (as they were)\n"
    shown = terminal.run("export", *second)
    memories = [line for line in map(json.loads, shown.out.splitlines()) if line["kind"] == "memory"]
    assert [each["content"] for each in memories] == ["What we learned on day 1."]


def test_an_interrupted_export_goes_on_and_notes_what_is_another(terminal: Terminal) -> None:
    whole = terminal.run("export").out.encode().splitlines(keepends=True)
    mark = next(place for place, line in enumerate(whole) if b'"kind":"mark"' in line)
    part = terminal.home / "rest.ndjson.part"
    part.write_bytes(b"".join(whole[: mark + 1]) + b'{"kind":"memory","id":"half')

    other = terminal.run("export", "rest.ndjson", "--tag", "d2")
    assert (other.code, "another export" in other.err) == (6, True)
    assert terminal.run("export", "rest.ndjson").code == 0
    assert terminal.run("import", "rest.ndjson", "--dry-run").code == 0


def test_a_bad_line_is_told_with_its_number(terminal: Terminal) -> None:
    whole = terminal.run("export").out.splitlines()
    bad = terminal.home / "bad.ndjson"
    bad.write_text("\n".join([whole[0], '{"kind": "memory", "id": 5}', *whole[1:]]) + "\n", encoding="utf-8")

    done = terminal.run("import", "bad.ndjson", "--incomplete")

    assert done.code == 1
    assert "refused: line 2: " in done.err
    assert "3 already there, 1 refused" in done.out

    assert terminal.run("export", "good.ndjson").code == 0
    both = terminal.run("import", "bad.ndjson", "good.ndjson", "--incomplete")

    assert (both.code, both.out.splitlines()) == (1, ["3 already there, 1 refused", "3 already there"]), both.err


def test_our_own_exports_are_imported_by_themselves(terminal: Terminal) -> None:
    terminal.run("export", "own.ndjson")

    done = terminal.run("import", "own.ndjson", "--project", "elsewhere")

    assert (done.code, "separately" in done.err) == (1, True)
