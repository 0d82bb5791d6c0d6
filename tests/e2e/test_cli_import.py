"""`openbrain import` as a person types it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_support import Terminal, up
from tests.memory_samples import lay_out


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = lay_out(tmp_path_factory.mktemp("home"))
    with up(Terminal(home, home / "data")) as running:
        yield running


def counts(terminal: Terminal, *words: str) -> dict[str, int]:
    done = terminal.run("import", "--json", *words)
    assert done.code == 0, done.err
    return dict(done.json["counts"])


def test_dry_run_import_again_edit_recall(terminal: Terminal) -> None:
    paths = [".claude", "src/shop"]
    dry = terminal.run("import", *paths, "--dry-run")
    assert (dry.code, dry.out.splitlines()[-1]) == (0, "nothing was changed: leave out --dry-run to do it")
    assert "half-written.md: line 4: the frontmatter can't be read" in dry.err
    assert terminal.run("list", "--json").json["count"] == 0

    first = counts(terminal, *paths)
    second = counts(terminal, *paths)
    assert first["created"] > 30
    assert second["unchanged"] == first["created"]
    assert (second["created"], second["superseded"], second["already_known"], second["vanished"]) == (0, 0, 0, 0)

    agents = terminal.home / "src" / "shop" / "AGENTS.md"
    agents.write_text(agents.read_text().replace("make seed", "make seed ONLY=ledger"))
    told = terminal.run("import", *paths)
    assert "1 superseded" in told.out.splitlines()[-1]

    found = terminal.run("recall", "how do I set up the shop with seed data?", "--project", "shop", "--json").json
    assert any("ONLY=ledger" in each["content"] for each in found["memories"])
    assert not any("then `make seed`\n" in each["content"] + "\n" for each in found["memories"])


def test_the_old_name_with_its_options(terminal: Terminal) -> None:
    projects = str(terminal.home / ".claude" / "projects")
    dry = terminal.run("seed-memory", "--workspace", "default", "--path", projects, "--dry-run", "--json")

    assert dry.json["dry_run"] is True
    assert "--workspace is not read" in dry.err
    assert terminal.run("seed-memory", "--path", projects, "--agent", "virgil").code == 0
    assert terminal.run("seed-memory", "--path", projects, "--json").json["counts"]["created"] == 0


def test_a_place_with_nothing_to_import_says_so(terminal: Terminal, tmp_path: Path) -> None:
    done = terminal.run("import", str(tmp_path))

    assert (done.code, done.out) == (0, "nothing to import here: name a file or a folder, or say what it is with --from\n")
