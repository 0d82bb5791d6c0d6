"""Commands and settings that the pages name are there under that name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from openbrain.settings import Settings
from openbrain.settings.groups import Group
from openbrain_cli.main import app

ROOT = Path(__file__).parents[3]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in page.parts),
    *sorted((ROOT / "services").glob("*/README.md")),
]
COMMAND = re.compile(r"(?:^|`|\$ |\.venv/bin/|-- )openbrain ([a-z][a-z:-]+)((?: +[\w:.-]+)*)", re.MULTILINE)
SETTING = re.compile(r"OPENBRAIN_([A-Z]+(?:__[A-Z_]+[A-Z])+)")
DOTTED = re.compile(rf"`((?:{'|'.join(Settings.model_fields)})\.[a-z_.]+)`")
NOT_SETTINGS = re.compile(r".*\.(?:py|md)|tick\.(?:requested|completed)")
"""Files and streams whose names begin like a group of settings."""
LOGGED = set(re.findall(r"^\| `([\w.]+)` \|", (ROOT / "docs/reference/logs.md").read_text("utf-8"), re.MULTILINE))


def settings(model: Any = Settings, before: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield before + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, Group):
            yield from settings(field.annotation, f"{before}{name}.")


def problem(first: str, others: list[str]) -> str | None:
    """Say why a person who types these words gets no answer but the help."""
    commands: Any = typer.main.get_command(app)
    if first not in commands.commands:
        return "no command"
    command = commands.commands[first].load()
    while hasattr(command, "commands") and others and others[0] in command.commands:
        command = command.commands[others.pop(0)]
    if hasattr(command, "commands") and not command.invoke_without_command and others != ["--help"]:
        return "no command of this group" if others else "a group alone shows only its help"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_can_be_typed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = {each[0]: found for each in COMMAND.finditer(text) if (found := problem(each[1], each[2].split()))}
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_settings_of_a_page_are_there(page: Path) -> None:
    known = set(settings())
    text = page.read_text(encoding="utf-8")
    named = {each.lower().replace("__", ".") for each in SETTING.findall(text)}
    named |= {each for each in DOTTED.findall(text) if not NOT_SETTINGS.fullmatch(each)} - LOGGED
    assert {each for each in named - known if not any(other.startswith(each + "_") for other in known)} == set()


def test_what_is_not_there_is_noticed() -> None:
    assert problem("operations", []) == "a group alone shows only its help"
    assert problem("operations", ["lst"]) == "no command of this group"
    assert problem("operation", ["list"]) == "no command"
    assert [problem(*each) for each in (("operations", ["list"]), ("streams", []), ("recall", ["x"]))] == [None] * 3
    assert "streams.aside" not in set(settings())
