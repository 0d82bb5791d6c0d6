"""Models by the installed command: listed, installed, removed; changed by setting while nothing is stored, then by
command."""

from pathlib import Path

import pytest

from tests.support.cli.terminal import Terminal, up, wait_until

MPNET = "all-mpnet-base-v2"


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    (tmp_path / "home").mkdir()
    return Terminal(home=tmp_path / "home", data=tmp_path / "data")


def test_models_are_listed_with_what_is_known_of_them(terminal: Terminal) -> None:
    small, better, large = terminal.run("models", "list", "--json").json["models"]

    assert (small["name"], small["dimensions"], small["state"], small["used"]) == ("all-minilm", 384, "ready", True)
    assert (large["name"], large["dimensions"], large["state"], large["used"]) == (MPNET, 768, "missing", False)
    assert f"openbrain models install {MPNET}" in large["problem"]
    assert (better["name"], better["dimensions"], better["licence"]) == ("bge-small-en-v1.5", 384, "MIT")
    assert {small["licence"], large["licence"]} == {"Apache-2.0"}
    assert not terminal.data.exists(), "a look makes nothing"

    for_people = terminal.run("models", "list", environment={"OPENBRAIN_EMBEDDING__MODEL": "mpnet"}).out
    assert "missing, in use" in " ".join(for_people.split())


def test_a_dry_run_says_what_an_installation_takes(terminal: Terminal) -> None:
    done = terminal.run("models", "install", "mpnet", "--dry-run")
    plan = terminal.run("models", "install", "mpnet", "--dry-run", "--json").json["plan"]

    assert (done.code, done.err) == (0, "")
    assert "405 MB" in done.out
    assert plan["download"] == 404_534_822
    assert not terminal.data.exists()


def test_a_damaged_file_is_told_and_removed(terminal: Terminal) -> None:
    folder = terminal.data / "models" / MPNET
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"half of it")

    assert terminal.run("models", "list", "--json").json["models"][2]["state"] == "damaged"
    refused = terminal.run("models", "remove", MPNET, environment={"OPENBRAIN_EMBEDDING__MODEL": "mpnet"})
    assert (refused.code, "is in use" in refused.err) == (1, True)
    assert terminal.run("models", "remove", MPNET, "--dry-run", "--json").json["bytes"] == 10
    assert folder.exists()

    removed = terminal.run("models", "remove", "mpnet")
    assert removed.code == 0
    assert not folder.exists()
    assert "nothing of" in terminal.run("models", "remove", "mpnet").out


@pytest.mark.parametrize("command", ["install", "remove"])
def test_what_can_not_be_done_is_said(terminal: Terminal, command: str) -> None:
    unknown, shipped = terminal.run("models", command, "gpt"), terminal.run("models", command, "minilm")

    assert (unknown.code, "all-minilm" in unknown.err, MPNET in unknown.err) == (6, True, True)
    assert (shipped.code, "it is pip that installs" in shipped.err) == (1, True)


@pytest.mark.parametrize(
    ("model", "told"),
    [("gpt", "no embedded model 'gpt'"), ("mpnet", "models install"), ("quality", "quality-profile.md")],
)
def test_a_start_without_the_model_says_what_to_do(terminal: Terminal, model: str, told: str) -> None:
    done = terminal.run("up", "--port", "0", environment={"OPENBRAIN_EMBEDDING__MODEL": model})

    assert done.code == 6
    assert told in done.err


@pytest.mark.slow("three starts, MPNet among them")
@pytest.mark.timeout(600)
def test_the_model_changes_by_setting_until_something_is_stored_and_then_by_command(
    terminal: Terminal, mpnet_models: Path
) -> None:
    folder = {"OPENBRAIN_EMBEDDING__MODELS_DIR": str(mpnet_models)}
    settings = {"OPENBRAIN_EMBEDDING__MODEL": "mpnet", **folder}
    quality = Terminal(home=terminal.home, data=terminal.data, environment=settings)
    with up(terminal):
        assert terminal.run("list", "--json").json["memories"] == []
    with up(quality):
        assert quality.run("remember", "The launch code is kept in the blue safe.", "--wait", "60").code == 0
        wait_until(lambda: _finds(quality))

    plain = Terminal(home=terminal.home, data=terminal.data, environment=folder)
    with up(plain):
        listed = plain.run("models", "list", "--json").json
        assert (listed["serving"], listed["setting"]) == (f"{MPNET}-int8", "all-minilm-l6-v2-int8")
        wait_until(lambda: _finds(plain))  # what serves decides, not the setting
        assert "is in use" in plain.run("models", "remove", MPNET).err

        look = plain.run("models", "change", "minilm", "--dry-run", "--json").json
        assert (look["how"], look["total"], look["cached"], look["operation"]) == ("embed", 1, 0, None)
        done = plain.run("models", "change", "minilm", "--json")
        assert (done.code, done.json["operation"]["status"]) == (0, "done"), done.err
        wait_until(lambda: _finds(plain))

        back = plain.run("models", "change", "mpnet")
        assert (back.code, "nothing is embedded" in back.out) == (0, True), back.err
        assert plain.run("models", "list", "--json").json["serving"] == f"{MPNET}-int8"
        wait_until(lambda: _finds(plain))
        assert "there is no embedded model" in plain.run("models", "change", "gpt").err


def _finds(terminal: Terminal) -> bool:
    found = terminal.run("recall", "Where do we hide the secret number?", "--json").json
    first = [each["content"] for each in found["memories"][:1]]
    return not found["degraded"] and first == ["The launch code is kept in the blue safe."]
