"""Every command is documented in the list of commands, its help, and the page of exit codes."""

import inspect
import os
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from openbrain.domain import errors
from openbrain_cli.main import COMMANDS, _fail, app
from openbrain_cli.system.shell import exit_codes
from tests.support.cli.terminal import Terminal

ROOT = Path(__file__).parents[3]


def targets() -> list[tuple[str, Any, str]]:
    """(name, function, text in the list of commands) of every command, also of those in groups."""
    found = []
    for name, (target, about) in COMMANDS.items():
        module, _, attribute = target.partition(":")
        each = getattr(import_module(module), attribute)
        if isinstance(each, typer.Typer):
            found += [(f"{name} {one.name}", one.callback, "") for one in each.registered_commands]
        else:
            found.append((name, each, about))
    return found


@pytest.mark.parametrize(
    ("name", "function", "about"), targets(), ids=lambda each: each if isinstance(each, str) else ""
)
def test_every_command_says_what_it_does_and_shows_how(name: str, function: Any, about: str) -> None:
    told = inspect.getdoc(function) or ""

    assert told.strip()
    assert "Example" in told
    assert f"openbrain {name.split(maxsplit=1)[0]}" in told


@pytest.mark.parametrize(
    "words", [["search", ""], ["search", " ", " "], ["brain", "search", ""], ["brain", "post", "lesson", " "]]
)
def test_words_that_an_unset_variable_left_empty_are_refused_as_such(words: list[str]) -> None:
    with pytest.raises(errors.Invalid, match=r"(WORDS|TEXT): is empty"):
        raise CliRunner().invoke(app, [*words, "--url", "http://127.0.0.1:9"]).exception or AssertionError


def test_an_overlap_without_an_end_is_wrong_use() -> None:
    assert CliRunner().invoke(app, ["keys", "rotate", "id", "--overlap", "inf"]).exit_code == exit_codes.USAGE


def test_the_page_of_exit_codes_is_true() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and line[2].isdigit()]

    assert rows == [f"| {code} | {meaning} |" for code, meaning in exit_codes.MEANING.items()]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.TryLater("x"), 3),
        (errors.NotFound("x"), 4),
        (errors.Unauthorised("x"), 5),
        (errors.Forbidden("x"), 5),
        (errors.SetupError("x"), 6),
        (errors.Invalid("f", "x"), 1),
        (errors.Conflict("x"), 1),
        (errors.NeverRetry("x"), 1),
        (errors.OpenBrainError("x"), 1),
    ],
)
def test_errors_have_their_codes(error: errors.OpenBrainError, code: int) -> None:
    assert exit_codes.of(error) == code


def typed(*words: str, out: Path | None = None) -> tuple[int, str]:
    """Run the program, with its output to this device; return its exit code and standard error."""
    with (out or Path(os.devnull)).open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "openbrain_cli.main", *words], stdout=file, stderr=subprocess.PIPE, check=False
        )
    return done.returncode, done.stderr.decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_told_and_no_internal_error() -> None:
    assert typed("version", out=Path("/dev/full")) == (exit_codes.SETUP, "openbrain: No space left on device\n")


@pytest.mark.parametrize(
    "words",
    [
        ("import",),
        ("vault", "init"),
        ("vault", "cluster", "--vault"),
        ("brain", "sync", "--adopt"),
        ("tick", "--vault"),
        ("tick", "--vault", ".", "--brain-feed"),
        ("seed-memory", "--path"),
        ("list", "--key-file"),
    ],
    ids=" ".join,
)
def test_an_empty_path_is_not_the_working_folder(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of an unset variable: its files would be imported, or removed for a feed's."""
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, [*words, ""])
    assert (refused.exit_code, "it is empty: name a file or folder" in refused.output) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    key, target = tmp_path / "key", tmp_path / "missing" / "all.ndjson"
    key.write_text("ob_x", encoding="ascii")
    key.chmod(0o600)
    terminal = Terminal(tmp_path, tmp_path / "data")
    done = terminal.run("export", str(target), "--url", "http://127.0.0.1:1", "--key-file", str(key))

    told = f"openbrain: {target}.part can't be written: No such file or directory\n"
    assert (done.code, done.err) == (exit_codes.SETUP, told)


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_stream_is_an_empty_one(closed: int) -> None:
    """Standard input, output and errors, as `<&-`, `>&-` and `2>&-` of a shell close them."""
    program = ("sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, "-m", "openbrain_cli.main")
    done = subprocess.run(
        [*program, "publish", "memory.submitted", "--dry-run"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    said = "" if closed == 2 else "openbrain: there is no event: give one JSON object, or one on each line\n"

    assert (done.returncode, done.stderr.decode()) == (exit_codes.REFUSED, said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_the_exit_code_counts_even_if_the_message_can_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with suppress(OSError), Path("/dev/full").open("w", buffering=1, encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        with pytest.raises(SystemExit) as end:
            _fail("it is away", exit_codes.UNREACHABLE)
    assert end.value.code == exit_codes.UNREACHABLE


def test_an_argument_that_is_not_utf8_is_told_and_no_internal_error(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("ob_x", encoding="ascii")
    key.chmod(0o600)
    code, said = typed("remember", "caf\udce9", "--url", "http://127.0.0.1:1", "--key-file", str(key))

    assert (code, "not UTF-8" in said, "internal" in said) == (exit_codes.REFUSED, True, False)


def test_the_home_of_nobody_is_told_and_no_internal_error(tmp_path: Path) -> None:
    done = Terminal(tmp_path, tmp_path / "data").run("up", "--data", "~no-such-user/brain")

    assert (done.code, "write the path in full" in done.err, "internal" in done.err) == (exit_codes.SETUP, True, False)


def test_help_imports_nothing_heavy() -> None:
    heavy = ("pydantic", "httpx", "rich", "redis", "sqlalchemy", "openbrain.settings", "openbrain.client", "orjson")
    program = (
        "import sys\nsys.argv = ['openbrain', '--help']\nfrom openbrain_cli.main import main\n"
        f"try: main()\nexcept SystemExit as end: print([n for n in {heavy!r} if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"
    assert "recall" in done.stdout
