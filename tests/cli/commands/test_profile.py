"""Which OpenBrain and which key a command uses: options, then environment, then the files of `openbrain up`."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from openbrain.domain.access.credentials import read_key
from openbrain.domain.errors import Invalid, SetupError, Unauthorised
from openbrain_cli.options import Speaking
from openbrain_cli.profile import Profile


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a running `openbrain up`."""
    for name, secret in (("key", "ob_local\nmore"), ("admin-key", "ob_admin\n")):
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o600)
    (tmp_path / "url").write_text("http://127.0.0.1:8788\n")
    return tmp_path


def profile(folder: Path, environment: Mapping[str, str] | None = None, **options: object) -> Profile:
    return Profile(data_dir=folder, environment=environment or {}, **options)  # type: ignore[arg-type]


def test_what_up_wrote_is_enough(folder: Path) -> None:
    found = profile(folder)

    assert (found.url, found.key(), found.key(admin=True)) == ("http://127.0.0.1:8788", "ob_local", "ob_admin")
    assert found.runs_here


def test_the_environment_goes_before_it_and_options_before_both(folder: Path, tmp_path: Path) -> None:
    environment = {"OPENBRAIN_URL": "https://brain.example.org", "OPENBRAIN_API_KEY": "ob_env"}
    key = tmp_path / "mine"
    key.write_text("ob_mine\n")
    key.chmod(0o600)

    assert (profile(folder, environment).url, profile(folder, environment).key()) == (
        "https://brain.example.org",
        "ob_env",
    )
    chosen = profile(folder, environment, url_option="http://localhost:1", key_file_option=key)
    assert (chosen.url, chosen.key()) == ("http://localhost:1", "ob_mine")


@pytest.mark.parametrize("bytes_", ["many", "-1", "1.5", "\u0661"])
def test_a_size_that_is_no_number_is_named(folder: Path, bytes_: str) -> None:
    with pytest.raises(Invalid, match="OPENBRAIN_RESPONSE_BYTES"):
        profile(folder, {"OPENBRAIN_RESPONSE_BYTES": bytes_}).client_of_tools()


def test_the_original_names_are_understood(folder: Path) -> None:
    found = profile(folder, {"CORE_BRAIN_URL": "https://core.example.org", "CORE_BRAIN_KEY": "ob_core"})

    assert (found.url, found.key()) == ("https://core.example.org", "ob_core")
    assert profile(folder, {"CORE_BRAIN_URL": "https://a", "OPENBRAIN_URL": "https://b"}).url == "https://b"
    assert profile(folder, {"CORE_BRAIN_ORG": "acme"}).org == "acme"


@pytest.mark.parametrize(
    ("written", "better"),
    [
        ("localhost:9", "http://localhost:9"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("brain.example.org:8788", "https://brain.example.org:8788"),
    ],
)
def test_an_address_without_a_scheme_is_told_with_one(folder: Path, written: str, better: str) -> None:
    with pytest.raises(SetupError, match=f"as {better}$"):
        _ = profile(folder, url_option=written).url


@pytest.mark.parametrize(
    "written",
    [
        "http://127.0.0.1:abc",
        "http://127.0.0.1:99999",
        "http://[::1",
        "http://[zz]",
        "http://a\x01b",
        "ftp://a",
        "http://",
    ],
)
def test_an_address_that_is_none_is_refused_by_name(folder: Path, written: str) -> None:
    for key in ({}, {"OPENBRAIN_API_KEY": "ob_x"}):
        with pytest.raises(SetupError, match=f"^{re.escape(repr(written))} is not a URL"):
            profile(folder, key, url_option=written).client()


@pytest.mark.parametrize("secret", ["ключ", "ob_one\nob_two"])
def test_a_key_that_no_header_can_carry_is_refused(folder: Path, secret: str) -> None:
    with pytest.raises(SetupError, match="a character that no key has"):
        profile(folder, {"OPENBRAIN_API_KEY": secret}).client()


def test_a_key_that_the_server_refused_is_named_by_where_it_came_from(folder: Path, tmp_path: Path) -> None:
    places = {
        str(folder / "key"): profile(folder),
        "OPENBRAIN_API_KEY": profile(folder, {"OPENBRAIN_API_KEY": "ob_x"}),
        "mine (OPENBRAIN_KEY_FILE)": profile(folder, {"OPENBRAIN_KEY_FILE": "mine"}),
        "theirs": profile(folder, key_file_option=tmp_path / "theirs"),
    }
    for place, chosen in places.items():
        assert place in str(chosen.not_known())
        assert "--key-file" in str(chosen.not_known())


def test_this_machines_key_is_never_sent_to_another_machine(folder: Path) -> None:
    with pytest.raises(Unauthorised, match="no key for https://elsewhere"):
        profile(folder, url_option="https://elsewhere.example.org").key()
    assert profile(folder, url_option="http://localhost:9999").key() == "ob_local"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_that_others_can_read_is_refused(folder: Path, mode: int) -> None:
    (folder / "key").chmod(mode)

    with pytest.raises(SetupError, match=f"mode {mode:04o}.*chmod 600"):
        profile(folder).key()


def test_missing_empty_and_unreadable_keys_say_what_to_do(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Unauthorised, match="there is no key file"):
        read_key(tmp_path / "nothing")
    (folder / "key").write_text("\nob_second_line")
    with pytest.raises(SetupError, match="is empty"):
        read_key(folder / "key")
    (folder / "key").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="can't be read"):
        read_key(folder / "key")


def test_without_a_running_system_it_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="openbrain up"):
        _ = profile(tmp_path).url


def test_a_folder_in_place_of_a_key_file_is_told_without_closing_it(folder: Path) -> None:
    folder.chmod(0o755)
    with pytest.raises(SetupError, match=f"^{folder} is a folder: name the file with the key in it$"):
        read_key(folder)


def test_a_request_of_no_agent_is_told_how_to_name_one(folder: Path) -> None:
    async def inbox(_brain: object) -> None:
        raise Invalid("agent_id", "messages are an agent's")

    with pytest.raises(Invalid, match=r"messages are an agent's: name it with --agent or OPENBRAIN_AGENT_ID$"):
        Speaking(data=folder).ask(inbox)
    with pytest.raises(Invalid, match=r"messages are an agent's$"):
        Speaking(data=folder, agent="ada").ask(inbox)
