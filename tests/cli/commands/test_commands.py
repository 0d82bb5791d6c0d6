"""Every command is documented in the list of commands, its help, and the page of exit codes."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from openbrain.domain import errors
from openbrain_cli.main import COMMANDS
from openbrain_cli.system.shell import exit_codes

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


def test_help_imports_nothing_heavy() -> None:
    heavy = ("pydantic", "httpx", "rich", "redis", "sqlalchemy", "openbrain.settings", "openbrain.client", "orjson")
    program = (
        "import sys\nsys.argv = ['openbrain', '--help']\nfrom openbrain_cli.main import main\n"
        f"try: main()\nexcept SystemExit as end: print([n for n in {heavy!r} if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"
    assert "recall" in done.stdout
