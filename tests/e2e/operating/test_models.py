"""Models by the installed command: listed, refused at the start, changed by a setting while nothing is stored, then
by command."""

from pathlib import Path

import pytest

from openbrain.adapters.embedding import bge
from tests.support.cli.terminal import Terminal, up, wait_until

BETTER = "bge-small-en-v1.5"


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    (tmp_path / "home").mkdir()
    return Terminal(home=tmp_path / "home", data=tmp_path / "data")


def test_models_are_listed_with_what_is_known_of_them(terminal: Terminal) -> None:
    small, better = terminal.run("models", "list", "--json").json["models"]

    assert (small["name"], small["dimensions"], small["state"], small["used"]) == ("all-minilm", 384, "ready", True)
    assert (better["name"], better["dimensions"], better["state"], better["used"]) == (BETTER, 384, "missing", False)
    assert "quality-profile.md" in better["problem"]
    assert (small["licence"], better["licence"]) == ("Apache-2.0", "MIT")
    assert not terminal.data.exists(), "the check creates nothing"

    for_people = terminal.run("models", "list", environment={"OPENBRAIN_EMBEDDING__MODEL": "quality"}).out
    assert "missing, in use" in " ".join(for_people.split())


def test_a_damaged_file_is_told(terminal: Terminal, tmp_path: Path) -> None:
    site = tmp_path / "site"
    about = site / "openbrain_bge_small_en_int8-1.5.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {bge.PACKAGE}\nVersion: 1.5.0\n")
    (site / bge.WEIGHTS).parent.mkdir()
    (site / bge.WEIGHTS).write_bytes(b"half of it")

    listed = terminal.run("models", "list", "--json", environment={"PYTHONPATH": str(site)}).json["models"][1]

    assert (listed["state"], "is not the model that was checked" in listed["problem"]) == ("damaged", True)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("gpt", "no embedded model 'gpt'"),
        ("mpnet", f"no longer embedded: set OPENBRAIN_EMBEDDING__MODEL={BETTER}"),
        ("quality", "quality-profile.md"),
    ],
)
def test_a_start_without_the_model_says_what_to_do(terminal: Terminal, model: str, told: str) -> None:
    done = terminal.run("up", "--port", "0", environment={"OPENBRAIN_EMBEDDING__MODEL": model})

    assert done.code == 6
    assert told in done.err


@pytest.mark.slow("three starts, two models")
@pytest.mark.timeout(600)
def test_the_model_changes_by_setting_until_something_is_stored_and_then_by_command(
    terminal: Terminal, bge_weights: Path
) -> None:
    installed = {"PYTHONPATH": str(bge_weights.parents[1])}
    settings = {"OPENBRAIN_EMBEDDING__MODEL": "quality", **installed}
    quality = Terminal(home=terminal.home, data=terminal.data, environment=settings)
    with up(terminal):
        assert terminal.run("list", "--json").json["memories"] == []
    with up(quality):
        assert quality.run("remember", "The launch code is kept in the blue safe.", "--wait", "60").code == 0
        wait_until(lambda: _finds(quality))

    plain = Terminal(home=terminal.home, data=terminal.data, environment=installed)
    with up(plain):
        listed = plain.run("models", "list", "--json").json
        assert (listed["serving"], listed["setting"]) == (f"{BETTER}-int8", "all-minilm-l6-v2-int8")
        wait_until(lambda: _finds(plain))  # the serving model decides, not the setting

        look = plain.run("models", "change", "minilm", "--dry-run", "--json").json
        assert (look["how"], look["total"], look["cached"], look["operation"]) == ("embed", 1, 0, None)
        done = plain.run("models", "change", "minilm", "--json")
        assert (done.code, done.json["operation"]["status"]) == (0, "done"), done.err
        wait_until(lambda: _finds(plain))

        back = plain.run("models", "change", BETTER)
        assert (back.code, "nothing is embedded" in back.out) == (0, True), back.err
        assert plain.run("models", "list", "--json").json["serving"] == f"{BETTER}-int8"
        wait_until(lambda: _finds(plain))
        assert "there is no embedded model" in plain.run("models", "change", "gpt").err


def _finds(terminal: Terminal) -> bool:
    found = terminal.run("recall", "Where do we hide the secret number?", "--json").json
    first = [each["content"] for each in found["memories"][:1]]
    return not found["degraded"] and first == ["The launch code is kept in the blue safe."]
