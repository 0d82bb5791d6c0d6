"""For a misspelt command only harmless commands are suggested."""

from importlib import import_module
from pathlib import Path

import pytest
import typer

from openbrain_cli.main import COMMANDS, app
from openbrain_cli.system.shell.suggestions import NEVER_SUGGESTED, suggestions
from tests.support.cli.terminal import Terminal

GROUPS = {"": app} | {
    name: found
    for name, (target, _) in COMMANDS.items()
    if isinstance(found := getattr(import_module(target.split(":")[0]), target.split(":")[1]), typer.Typer)
}


def names(group: typer.Typer) -> list[str]:
    made = typer.main.get_command(group)
    assert hasattr(made, "commands")
    return list(made.commands)


@pytest.mark.parametrize("destructive", ["forget", "erase", "stop", "delete", "revoke", "discard", "drop", "remove"])
def test_what_ends_something_is_known_as_such(destructive: str) -> None:
    assert any(destructive in names(group) for group in GROUPS.values())
    assert destructive in NEVER_SUGGESTED


def test_no_misspelling_of_any_command_leads_to_one_that_ends_something() -> None:
    for group in GROUPS.values():
        commands = names(group)
        for name in commands:
            for typed in (name[1:], name[:-1], name + "s", name.replace("e", "a"), f"un{name}", name[::-1]):
                assert not NEVER_SUGGESTED.intersection(suggestions(typed, commands)), typed


@pytest.mark.parametrize(
    ("typed", "meant"), [("serve", "up"), ("get", "show"), ("lst", "list"), ("recal", "recall"), ("start", "up")]
)
def test_what_was_meant_is_suggested(typed: str, meant: str) -> None:
    assert suggestions(typed, names(app))[0] == meant


@pytest.mark.parametrize(("typed", "said"), [("frget", ""), ("serve", "Did you mean 'up'?"), ("keys revok", "")])
def test_a_misspelt_command_in_the_terminal(typed: str, said: str, tmp_path: Path) -> None:
    done = Terminal(tmp_path, tmp_path / "data").run(*typed.split())
    assert done.code == 2
    assert said in done.err
    assert ("Did you mean" in done.err) == bool(said), done.err
