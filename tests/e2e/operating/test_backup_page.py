"""docs/operations/backup.md: every line of it, typed into a shell, on both databases."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.support.cli.terminal import Terminal, up, wait_until
from tests.support.processes.shell_program import shell_program

PAGE = (Path(__file__).parents[3] / "docs" / "operations" / "backup.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^##+ (.*)$", re.MULTILINE)
AFTER = "Start, and say that it was put back"
COMMON = {"Back up: when it was", "Back up: the vault", "Put back: the vault", "Put back: the schema", AFTER}
FORMS = {"sqlite": "SQLite", "mariadb": "MariaDB"}


def blocks() -> dict[str, str]:
    """The commands of the page, by heading."""
    _, *parts = SECTION.split(PAGE)
    found = {
        name: re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }
    return {name: "".join(some) for name, some in found.items() if some}


def test_every_block_is_typed_by_one_of_the_forms() -> None:
    own = {f"{what}: {form}" for what in ("Back up", "Put back") for form in FORMS.values()}
    assert set(blocks()) == COMMON | own


@pytest.fixture
def terminal_of_sqlite(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    yield from _terminal("sqlite", request, tmp_path)


@pytest.fixture
def terminal(form: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    yield from _terminal(form, request, tmp_path)


def _terminal(form: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    own = {"DATA": str(tmp_path / "data"), "BACKUP": str(tmp_path / "backup"), "VAULT": str(tmp_path / "vault")}
    for name in ("BACKUP", "VAULT"):
        Path(own[name]).mkdir()
    if form == "mariadb":
        url = make_url(request.getfixturevalue("mariadb_url"))
        client = tmp_path / "client.cnf"
        client.write_text(f"[client]\nhost={url.host}\nport={url.port}\nuser={url.username}\npassword={url.password}\n")
        own |= {"CLIENT": str(client), "DATABASE": str(url.database)}
        own["OPENBRAIN_TRUTH__URL"] = url.render_as_string(hide_password=False)
    (tmp_path / "bin").mkdir()
    with shell_program(tmp_path / "bin" / "openbrain"):
        yield Terminal(tmp_path, tmp_path / "data", {**own, "OPENBRAIN_HOUSEKEEPING__TUNING__GRACE_S": "0.5"})


def typed(terminal: Terminal, *names: str) -> None:
    """Type these blocks; each line must succeed."""
    path = {"PATH": f"{terminal.home / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/bash", "-e", "-u", "-o", "pipefail", "-c", "".join(blocks()[name] for name in names)],
        env=terminal.env(path),
        cwd=terminal.home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{names}: {done.stdout}{done.stderr}"


def remember(terminal: Terminal, content: str) -> None:
    done = terminal.run("remember", content)
    assert done.code == 0, done.err


def contents(terminal: Terminal) -> set[str]:
    done = terminal.run("list", "--json")
    assert done.code == 0, done.err
    return {each["content"] for each in done.json["memories"]}


@pytest.mark.slow("two starts of the pipeline, and all but the backup destroyed between them")
def test_all_that_is_destroyed_but_the_backup_is_put_back(terminal_of_sqlite: Terminal) -> None:
    """Database, streams and indexes are destroyed, as on a new machine."""
    terminal, vault = terminal_of_sqlite, Path(terminal_of_sqlite.environment["VAULT"])
    with up(terminal):
        remember(terminal, "The harbour freezes.")
        (vault / "page.md").write_text("as it was")
        typed(terminal, "Back up: when it was", "Back up: SQLite", "Back up: the vault")
        remember(terminal, "Written after the backup.")
    shutil.rmtree(terminal.data)
    shutil.rmtree(vault)
    terminal.data.mkdir(mode=0o700)
    typed(terminal, "Put back: SQLite", "Put back: the vault", "Put back: the schema")
    began = time.monotonic()
    with up(terminal):
        assert contents(terminal) == {"The harbour freezes."}
        typed(terminal, AFTER)
        found = terminal.run("recall", "harbour", "--json").json
        print(f"found again {time.monotonic() - began:.1f} s after the start")  # noqa: T201
    assert [each["content"] for each in found["memories"]] == ["The harbour freezes."]
    assert (vault / "page.md").read_text() == "as it was"


@pytest.mark.slow("two starts of the pipeline, and the page typed between them")
@pytest.mark.parametrize("form", ["sqlite", pytest.param("mariadb", marks=pytest.mark.servers("mariadb"))])
def test_what_was_backed_up_is_put_back_and_what_was_submitted_since(form: str, terminal: Terminal) -> None:
    name, vault = FORMS[form], Path(terminal.environment["VAULT"])
    before, submitted, lost = "The harbour freezes.", "Build 4711 failed.", "Written after the backup."
    with up(terminal):
        remember(terminal, before)
        (vault / "page.md").write_text("as it was")
        typed(terminal, "Back up: when it was", f"Back up: {name}", "Back up: the vault")
        remember(terminal, lost)
        event = json.dumps({"content": submitted, "type": "bug"})
        assert terminal.run("publish", "memory.submitted", "--workspace", "default", stdin=event).code == 0
        wait_until(lambda: contents(terminal) == {before, submitted, lost})
        (vault / "page.md").write_text("changed")
        (vault / "new.md").write_text("new")
    typed(terminal, f"Put back: {name}", "Put back: the vault", "Put back: the schema")
    with up(terminal):
        assert contents(terminal) == {before}
        typed(terminal, AFTER)
        wait_until(lambda: contents(terminal) == {before, submitted})
    assert {each.name: each.read_text() for each in vault.iterdir()} == {"page.md": "as it was"}
    private: Mapping[str, int] = {
        each.name: each.stat().st_mode & 0o077 for each in (terminal.home / "backup").iterdir()
    }
    assert set(private.values()) == {0}
