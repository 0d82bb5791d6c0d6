"""`openbrain import` as a person types it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cli.import_samples import ALL, SAMPLES
from tests.support.cli.memory_samples import copy_samples, lay_out
from tests.support.cli.terminal import Terminal, up, wait_until


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = lay_out(tmp_path_factory.mktemp("home"))
    with up(Terminal(home, home / "data")) as running:
        yield running


@pytest.fixture
def apart(terminal: Terminal, tmp_path: Path) -> Terminal:
    """An empty workspace of the same system."""
    file = tmp_path / "key"
    assert terminal.run("workspaces", "create", "apart").code == 0
    assert terminal.run("keys", "create", "k", "--workspace", "apart", "--write", str(file)).code == 0
    return replace(terminal, environment={"OPENBRAIN_API_KEY": file.read_text().strip()})


def counts(terminal: Terminal, *words: str) -> dict[str, int]:
    done = terminal.run("import", "--json", *words)
    assert done.code == 0, done.err
    return dict(done.json["counts"])


def stored(terminal: Terminal) -> list[str]:
    return [each["id"] for each in terminal.run("list", "--json", "--limit", "100").json["memories"]]


def test_dry_run_import_again_edit_recall(apart: Terminal) -> None:
    paths = [".claude", "src/shop"]
    dry = apart.run("import", *paths, "--dry-run")
    assert (dry.code, dry.out.splitlines()[-1]) == (0, "nothing was changed: leave out --dry-run to do it")
    assert "half-written.md: line 4: the frontmatter can't be read" in dry.err
    assert apart.run("list", "--json").json["count"] == 0

    first = counts(apart, *paths)
    second = counts(apart, *paths)
    assert first["created"] > 30
    assert second["unchanged"] == first["created"]
    assert (second["created"], second["superseded"], second["already_known"], second["vanished"]) == (0, 0, 0, 0)

    agents = apart.home / "src" / "shop" / "AGENTS.md"
    agents.write_text(agents.read_text().replace("make seed", "make seed ONLY=ledger"))
    told = apart.run("import", *paths)
    assert "1 superseded" in told.out.splitlines()[-1]

    def found() -> list[str]:
        question = "how do I set up the shop with seed data?"
        told = apart.run("recall", question, "--project", "shop", "--json").json
        return [each["content"] for each in told["memories"]]

    assert not any("then `make seed`\n" in each + "\n" for each in found()), "removed at once"
    wait_until(lambda: any("ONLY=ledger" in each for each in found()))
    assert not any("then `make seed`\n" in each + "\n" for each in found())


def test_the_old_name_with_its_options(terminal: Terminal) -> None:
    projects = str(terminal.home / ".claude" / "projects")
    dry = terminal.run("seed-memory", "--workspace", "default", "--path", projects, "--dry-run", "--json")

    assert dry.json["dry_run"] is True
    assert "--workspace is ignored" in dry.err
    assert terminal.run("seed-memory", "--path", projects, "--agent", "virgil").code == 0
    assert terminal.run("seed-memory", "--path", projects, "--json").json["counts"]["created"] == 0
    listed = terminal.run("list", "--json", "--limit", "100").json["memories"]
    assert 0.8 in {each["confidence"] for each in listed}


def test_a_place_with_nothing_to_import_says_why_and_fails(terminal: Terminal, tmp_path: Path) -> None:
    done = terminal.run("import", str(tmp_path))
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\0")
    refused, dry = terminal.run("import", str(picture)), terminal.run("import", str(picture), "--dry-run", "--json")

    assert (done.code, done.out) == (1, "nothing to import was found\n")
    assert f"{tmp_path}: holds no notes (.md)" in done.err
    assert (refused.code, refused.err.count("is no notes")) == (1, 1)
    assert (dry.code, dry.json["skipped"]) == (1, [{"path": str(picture), "reason": "is no notes"}])


def test_a_folder_of_notes_inside_a_clone_is_imported(terminal: Terminal) -> None:
    clone = terminal.home / "clone"
    (clone / ".git").mkdir(parents=True)
    (clone / "notes").mkdir()
    (clone / "notes" / "one.md").write_text("# Cache\nThe clone's cache key holds the tenant.\n")
    whole = terminal.run("import", str(clone))

    assert counts(terminal, str(clone / "notes"))["created"] == 1
    assert whole.code == 1
    assert f"{clone}: is a git repository, of which only instructions for agents are imported" in whole.err
    assert counts(terminal, str(clone), "--from", "markdown")["unchanged"] == 1


def test_without_a_path_it_only_lists(tmp_path: Path) -> None:
    """This needs no server."""
    home = lay_out(tmp_path / "home")
    alone = Terminal(home, home / "data")
    told, asked = alone.run("import"), alone.run("import", "--discover", "--json")

    assert (told.code, asked.code) == (0, 0), told.err
    assert told.out.splitlines()[-1].startswith("import one of them with `openbrain import PATH`")
    assert {(each["kind"], Path(each["path"]).relative_to(home).as_posix()) for each in asked.json["found"]} == {
        ("claude", ".claude"),
        ("agents", ".codex"),
        ("claude", "src/shop"),
        ("agents", "src/shop"),
    }
    assert "half-written.md: line 4: the frontmatter can't be read" in told.err
    empty = Terminal(tmp_path, tmp_path / "data").run("import", environment={"HOME": str(tmp_path / "none")})
    assert empty.out == "nothing to import was found: name a file or a folder, or say what it is with --from\n"


def test_every_kind_at_once(terminal: Terminal) -> None:
    paths = []
    for sample in ALL:
        folder = terminal.home / "kinds" / sample.client
        copy_samples(SAMPLES / sample.client, folder)
        paths.append(str(folder / sample.path))
    before = stored(terminal)
    dry = terminal.run("import", *paths, "--dry-run", "--json").json
    assert {(each["kind"], each["sections"]) for each in dry["found"]} == {(each.client, each.sections) for each in ALL}
    assert dry["counts"]["to_create"] == sum(each.sections for each in ALL)
    assert stored(terminal) == before

    done = terminal.run("import", *paths)
    assert done.code == 0, done.err
    assert f"{paths[0]}: codex, 2 files, 5 sections" in done.err
    assert counts(terminal, *paths)["unchanged"] == dry["counts"]["to_create"]


@pytest.mark.parametrize("wrong", ["content", "nothing=x", "content="])
def test_a_map_that_names_no_field_is_refused(terminal: Terminal, wrong: str) -> None:
    done = terminal.run("import", "a.csv", "--map", wrong)

    assert done.code == 1
    assert "--map: must be FIELD=COLUMN with a field of content, title" in done.err


def test_columns_are_named_on_the_command_line(terminal: Terminal) -> None:
    (terminal.home / "zettel.csv").write_text("Notiz,Wer\nDie Pumpe tropft.,Ada\n", encoding="utf-8")
    without = terminal.run("import", "zettel.csv", "--dry-run")
    named = terminal.run("import", "zettel.csv", "--map", "content=Notiz", "--json")

    assert "name it with --map content=FIELD" in without.err
    assert named.json["counts"]["created"] == 1
