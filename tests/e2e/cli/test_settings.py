"""`openbrain settings` and the settings file, as a person types them."""

import re
from pathlib import Path

import pytest

from tests.support.cli.terminal import Terminal


def home_file(home: Path) -> Path:
    folder = home / ".openbrain"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / "openbrain.toml"


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    home_file(tmp_path).write_text("[streams]\nbatch = 7\n[truth]\nurl = 'mysql+aiomysql://u:secret@h/d'\n")
    (tmp_path / "other.toml").write_text("[streams]\nbatch = 8\n")
    return Terminal(tmp_path, tmp_path / "data")


def test_settings_say_what_holds_and_from_where(terminal: Terminal) -> None:
    whole = terminal.run("settings", "--json", "--origin").json
    plain = terminal.run("settings", "--json").json
    shown = terminal.run("settings", "--changed", environment={"COLUMNS": "80"})
    table = terminal.run("settings", environment={"COLUMNS": "80"}).out

    file = str(home_file(terminal.home))
    assert whole["OPENBRAIN_STREAMS__BATCH"] == {"value": "7", "from": file}
    assert whole["OPENBRAIN_DATA_DIR"]["from"] == "environment"
    assert whole["OPENBRAIN_TEXT__URL"] == {"value": "embedded", "from": "default"}
    assert plain["OPENBRAIN_STREAMS__BATCH"] == "7"
    assert re.search(r"OPENBRAIN_STREAMS__BATCH +file +7\b", shown.out)
    assert re.search(r"OPENBRAIN_TEXT__URL +default +embedded\n", re.sub(" +\n", "\n", table))
    assert shown.err == f"file: {file}\n"
    assert "secret" not in shown.out + str(whole)


def test_another_file_is_named_before_or_behind_the_command_and_the_environment_wins(terminal: Terminal) -> None:
    for words in (("--config", "other.toml", "settings"), ("settings", "--config", "other.toml")):
        assert terminal.run(*words, "--json").json["OPENBRAIN_STREAMS__BATCH"] == "8"
    over = {"OPENBRAIN_STREAMS__BATCH": "9"}
    assert terminal.run("settings", "--json", environment=over).json["OPENBRAIN_STREAMS__BATCH"] == "9"


@pytest.mark.parametrize("command", [("settings",), ("up", "--port", "0"), ("list",)])
def test_a_file_that_can_not_be_used_is_one_line_and_a_code(terminal: Terminal, command: tuple[str, ...]) -> None:
    home_file(terminal.home).write_text("[streams]\nbatch = 'many'\n")
    wrong = terminal.run(*command)
    home_file(terminal.home).write_text("[streams\n")
    broken = terminal.run(*command)

    assert (wrong.code, broken.code) == (6, 6)
    assert "the setting OPENBRAIN_STREAMS__BATCH can't be used" in wrong.err
    assert "openbrain.toml can't be read" in broken.err
    assert len(wrong.err.splitlines()) == len(broken.err.splitlines()) == 1
