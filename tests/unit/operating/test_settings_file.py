"""The settings file: its values apply, the environment takes precedence, and each value reports its source."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from openbrain import settings
from openbrain.domain.errors import SetupError
from openbrain.settings import reference
from openbrain_cli.main import app
from openbrain_cli.profile import settings_loaded

TEXT = """
data_dir = "~/brains/one"

[streams]
url = "redis://file:6379/0"
batch = 7

[text]
url = "http://file:9200"
verify_tls = false

[vaults.folders]
default = "/srv/vault"
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith(("OPENBRAIN_", "BRAIN_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    settings.loaded.cache_clear()
    yield
    settings.loaded.cache_clear()


def written(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_what_the_file_says_holds_and_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "home" / ".openbrain" / "openbrain.toml")
    monkeypatch.setenv("OPENBRAIN_STREAMS__BATCH", "9")
    monkeypatch.setenv("ELASTICSEARCH_URL", "http://environment:9200")
    found = settings.load()

    assert (found.streams.url, found.streams.batch) == ("redis://file:6379/0", 9)
    assert (found.text.url, found.text.verify_tls) == ("http://environment:9200", False)
    assert found.data_dir == tmp_path / "home" / "brains" / "one"
    assert found.vaults.folders == {"default": Path("/srv/vault")}
    assert found.truth.url == "embedded"


def test_each_value_tells_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(written(tmp_path / "home" / ".openbrain" / "openbrain.toml"))
    monkeypatch.setenv("OPENBRAIN_STREAMS__BATCH", "9")
    monkeypatch.setenv("ELASTICSEARCH_URL", "http://environment:9200")
    origins = reference.origins(settings.loaded())

    assert {
        name: origins[f"OPENBRAIN_{name}"]
        for name in ("DATA_DIR", "STREAMS__URL", "STREAMS__BATCH", "TEXT__URL", "TEXT__VERIFY_TLS", "TRUTH__URL")
    } == {
        "DATA_DIR": file,
        "STREAMS__URL": file,
        "STREAMS__BATCH": "environment",
        "TEXT__URL": "environment",
        "TEXT__VERIFY_TLS": file,
        "TRUTH__URL": "default",
    }
    assert origins["OPENBRAIN_VAULTS__FOLDERS"] == file


def test_without_a_file_the_environment_alone_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_STREAMS__BATCH", "9")
    found = settings.loaded()

    assert (found.file, found.settings.streams.batch) == (None, 9)
    assert set(reference.origins(found).values()) == {"default", "environment"}


def test_the_named_file_goes_before_that_of_the_home_and_that_of_the_working_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "openbrain.toml", "")
    assert settings.loaded().file is None
    used = []
    for place in ("home/.openbrain/openbrain.toml", "other.toml"):
        file = written(tmp_path / place, "")
        if place == "other.toml":
            monkeypatch.setenv("OPENBRAIN_CONFIG", "other.toml")
        settings.loaded.cache_clear()
        used.append(settings.loaded().file == file)

    assert used == [True, True]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[streams\n", "can't be read: .*line 1"),
        ("stream = 1\n", "names 'stream', which is no setting"),
        ("url = 'x'\n", "names 'url', which is no setting"),
    ],
)
def test_what_the_file_says_wrong_is_told(tmp_path: Path, text: str, says: str) -> None:
    written(tmp_path / "home" / ".openbrain" / "openbrain.toml", text)
    with pytest.raises(SetupError, match=says):
        settings.load()


def test_a_name_in_a_table_that_is_no_setting_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "home" / ".openbrain" / "openbrain.toml", "[streams]\nbatches = 7\n")
    with pytest.raises(ValidationError, match="batches"):
        settings.load()
    with pytest.raises(SetupError, match=r"^OPENBRAIN_STREAMS__BATCHES is no setting: did you mean \w+__BATCH\?"):
        settings_loaded()


def test_a_named_file_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_CONFIG", "nothing.toml")
    with pytest.raises(SetupError, match=r"there is no settings file nothing\.toml: look at --config"):
        settings.load()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENBRAIN_WEBHOOKS__HOSTS", "hooks.example.org"),
        ("OPENBRAIN_STREAMS__BACKOFF_S", "10,60"),
        ("OPENBRAIN_VAULTS__FOLDERS", '{"default": /vault}'),
        ("OPENBRAIN_WEBHOOKS__TUNING__BACKOFF_S", "1,2"),
        ("OPENBRAIN_STREAMS", "redis://redis:6379"),
    ],
)
def test_a_list_or_table_that_is_not_json_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENBRAIN_SERVER__ORIGINS", '["https://example.org"]')
    monkeypatch.setenv("SERVER", "not ours")
    with pytest.raises(SetupError, match=f"^the setting {name} can't be used: lists and tables are JSON"):
        settings.load()  # as in a service that is started without our command


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("OPENBRAIN_STREAM__URL", "OPENBRAIN_STREAMS__URL"),
        ("OPENBRAIN_STREAMS_URL", "OPENBRAIN_STREAMS__URL"),
        ("OPENBRAIN_STREAM_URL", "OPENBRAIN_STREAMS__URL"),
        ("OPENBRAIN_LOG_LEVEL", "OPENBRAIN_LOGS__LEVEL"),
        ("openbrain_truth_url", "OPENBRAIN_TRUTH__URL"),
        ("OPENBRAIN_SERVE__PORT", "OPENBRAIN_SERVER__PORT"),
        ("OPENBRAIN_DATA__DIR", "OPENBRAIN_DATA_DIR"),
        ("OPENBRAIN_DATADIR", "OPENBRAIN_DATA_DIR"),
    ],
)
def test_a_mistyped_variable_is_refused_with_the_setting_meant(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    """Else the embedded parts would be used in place of the server that it names."""
    monkeypatch.setenv(name, "redis://redis:6379")
    with pytest.raises(SetupError, match=rf"^{name.upper()} is no setting: did you mean {meant}\?"):
        settings.load()


def test_variables_of_clients_and_of_kubernetes_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes adds some to each container, by the names of its services."""
    for service in ("API", "SERVER", "STREAMS", "HOUSEKEEPER", "_X"):
        monkeypatch.setenv(f"OPENBRAIN_{service}_SERVICE_HOST", "10.0.0.1")
        monkeypatch.setenv(f"OPENBRAIN_{service}_SERVICE_PORT", "8000")
        monkeypatch.setenv(f"OPENBRAIN_{service}_SERVICE_PORT_HTTP", "8000")
        monkeypatch.setenv(f"OPENBRAIN_{service}_PORT", "tcp://10.0.0.1:8000")
        monkeypatch.setenv(f"OPENBRAIN_{service}_PORT_8000_TCP", "tcp://10.0.0.1:8000")
        monkeypatch.setenv(f"OPENBRAIN_{service}_PORT_8000_TCP_PORT", "8000")
    for name in ("URL", "API_KEY", "KEY_FILE", "AGENT_ID", "ORG", "ALLOW_HTTP", "DEBUG", "HOME", "TEST_URL"):
        monkeypatch.setenv(f"OPENBRAIN_{name}", "theirs")
    monkeypatch.setenv("OPENBRAIN_RECALL__TUNING__CANDIDATES", "70")
    assert settings.load().streams.url == "embedded"


def test_folders_of_vaults_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_VAULTS__FOLDERS", '{"default": "/srv/vault"}')
    assert reference.effective(settings.load())["OPENBRAIN_VAULTS__FOLDERS"] == '{"default": "/srv/vault"}'


def test_no_data_folder_is_the_working_folder_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`openbrain up` closes its data folder, and all that is in it, to others."""
    monkeypatch.setenv("OPENBRAIN_DATA_DIR", "")
    assert settings.Settings().data_dir == settings.Settings.model_fields["data_dir"].default
    monkeypatch.setenv("OPENBRAIN_DATA_DIR", "~/brain")
    assert settings.Settings().data_dir == tmp_path / "home" / "brain"
    for command in ("up", "status", "list"):
        refused = CliRunner().invoke(app, [command, "--data", ""])
        assert (refused.exit_code, "name a folder, or leave the option out" in refused.output) == (2, True)


def test_a_home_folder_is_expanded_in_the_folder_of_transcripts(tmp_path: Path) -> None:
    written(tmp_path / "home" / ".openbrain" / "openbrain.toml", '[tick]\nprojects_dir = "~/.claude/projects"\n')
    assert settings.load().tick.projects_dir == tmp_path / "home" / ".claude" / "projects"
