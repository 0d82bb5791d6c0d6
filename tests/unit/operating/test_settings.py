"""One settings class: its reference page is current, the original names are accepted, no secret is shown."""

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import make_url

from openbrain.settings import Settings
from openbrain.settings import reference as settings_reference
from openbrain_cli.system.up import max_level

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"

ALIASES = [
    ("OLLAMA_URL", "http://ollama:11434", ("embedding", "url")),
    ("BRAIN_OLLAMA_URL", "http://ollama:11434", ("embedding", "url")),
    ("QDRANT_URL", "http://qdrant:6333", ("vectors", "url")),
    ("BRAIN_QDRANT_URL", "http://qdrant:6333", ("vectors", "url")),
    ("ELASTICSEARCH_URL", "http://search:9200", ("text", "url")),
    ("BRAIN_COLLECTION", "mine", ("vectors", "collection")),
    ("BRAIN_ELASTIC_INDEX", "mine", ("text", "index")),
    ("BRAIN_EMBEDDING_MODEL", "nomic-embed-text", ("embedding", "model")),
]


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*(name for name, _, _ in ALIASES), "BRAIN_VERIFY_SSL", "BRAIN_ASYNC_EMBED"]:
        monkeypatch.delenv(name, raising=False)


def test_the_reference_page_is_true() -> None:
    told = "openbrain settings --reference > docs/reference/settings.md"
    assert PAGE.read_text(encoding="utf-8") == settings_reference.page(), f"write it again: {told}"


def test_every_setting_says_what_it_means() -> None:
    assert [line.name for line in settings_reference.lines() if not line.about] == []


@pytest.mark.parametrize(("name", "value", "path"), ALIASES)
def test_an_original_name_stands_for_ours(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, path: tuple[str, str]
) -> None:
    monkeypatch.setenv(name, value)
    group, member = path
    assert getattr(getattr(Settings().with_aliases(), group), member) == value


@pytest.mark.parametrize(("name", "value", "path"), ALIASES)
def test_our_own_name_wins(monkeypatch: pytest.MonkeyPatch, name: str, value: str, path: tuple[str, str]) -> None:
    group, member = path
    monkeypatch.setenv(name, value)
    monkeypatch.setenv(f"OPENBRAIN_{group}__{member}".upper(), "ours")
    assert getattr(getattr(Settings().with_aliases(), group), member) == "ours"


def test_the_name_with_brain_wins_over_the_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_URL", "http://other:11434")
    monkeypatch.setenv("BRAIN_OLLAMA_URL", "http://brain:11434")
    assert Settings().with_aliases().embedding.url == "http://brain:11434"


def test_certificates_are_not_checked_where_the_original_name_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAIN_VERIFY_SSL", "false")
    folded = Settings().with_aliases()
    assert (folded.text.verify_tls, folded.vectors.verify_tls) == (False, False)
    monkeypatch.delenv("BRAIN_VERIFY_SSL")
    folded = Settings().with_aliases()
    assert (folded.text.verify_tls, folded.vectors.verify_tls) == (True, True)


def test_nothing_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_TRUTH__URL", "mysql+aiomysql://brain:marker-1@db/openbrain")
    monkeypatch.setenv("OPENBRAIN_STREAMS__URL", "redis://:marker-2@redis:6379")
    monkeypatch.setenv("OPENBRAIN_VECTORS__API_KEY", "marker-3")
    shown = settings_reference.effective(Settings().with_aliases())
    assert "marker" not in str(shown)
    assert shown["OPENBRAIN_TRUTH__URL"] == "mysql+aiomysql://brain:(hidden)@db/openbrain"


@pytest.mark.parametrize("password", ["se/cret", "a:b/c", 'q"uote', "two words", "hash#?"])
def test_a_password_that_a_driver_takes_is_hidden_as_a_whole(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    url = f"mysql+aiomysql://brain:{password}@db/openbrain"
    assert make_url(url).password == password
    monkeypatch.setenv("OPENBRAIN_TRUTH__URL", url)
    monkeypatch.setenv("OPENBRAIN_STREAMS__URL", "redis://brain:p@ss@redis:6379")
    monkeypatch.setenv(
        "OPENBRAIN_VAULTS__PROBES", json.dumps({"site": f"https://me:{password}@shop/", "db": "tcp://a:1"})
    )
    shown = settings_reference.effective(Settings())
    assert shown["OPENBRAIN_TRUTH__URL"] == "mysql+aiomysql://brain:(hidden)@db/openbrain"
    assert shown["OPENBRAIN_STREAMS__URL"] == "redis://brain:(hidden)@redis:6379"
    assert json.loads(shown["OPENBRAIN_VAULTS__PROBES"]) == {"site": "https://me:(hidden)@shop/", "db": "tcp://a:1"}


def test_the_reference_has_each_heading_once_and_original_names_alone_under_theirs() -> None:
    sections = re.findall(r"^## (.*)\n\n([^#]*)", settings_reference.page(), re.MULTILINE)
    headings = [heading for heading, _ in sections]
    assert len(set(headings)) == len(headings)
    assert all(
        re.search(r"Original name of|same as", line) for line in dict(sections)["Original names"].splitlines()[2:]
    )


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("STREAMS__URL", "redis://:marker@1@redis:6379/0?db=2", "redis://:(hidden)@redis:6379/0?db=2"),
        ("STREAMS__URL", "rediss://redis/0?password=marker&db=2", "rediss://redis/0?password=(hidden)&db=2"),
        ("REASONER__URL", "https://models/v1?version=3&api-key=marker", "https://models/v1?version=3&api-key=(hidden)"),
        (
            "VAULTS__PROBES",
            '{"db": "tcp://db:5432", "web": "https://ada:marker@web/x?Token=marker", "mail": "tcp://a:25"}',
            '{"db": "tcp://db:5432", "web": "https://ada:(hidden)@web/x?Token=(hidden)", "mail": "tcp://a:25"}',
        ),
    ],
)
def test_no_secret_of_an_address_is_shown(name: str, value: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"OPENBRAIN_{name}", value)
    assert settings_reference.effective(Settings())[f"OPENBRAIN_{name}"] == shown


@pytest.mark.parametrize(
    ("given", "own", "waits"), [(None, None, 0), ("true", None, 0), ("false", None, 30), ("false", "5", 5)]
)
def test_embedding_before_the_answer(
    monkeypatch: pytest.MonkeyPatch, given: str | None, own: str | None, waits: int
) -> None:
    for name, value in (("BRAIN_ASYNC_EMBED", given), ("OPENBRAIN_SERVER__WAIT_S", own)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert Settings().with_aliases().server.wait_s == waits


def test_a_number_that_is_no_longer_a_setting_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_STREAMS__POLL_S", "3")
    message = r"OPENBRAIN_STREAMS__POLL_S is an internal number now: remove it.*OPENBRAIN_STREAMS__TUNING__POLL_S"
    with pytest.raises(ValueError, match=message):
        Settings()


def test_a_threshold_tells_its_new_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_TICK__PROMOTE_HEAT", "8")
    with pytest.raises(ValueError, match="is now OPENBRAIN_TICK__THRESHOLDS__PROMOTE_HEAT"):
        Settings()


def test_a_log_level_is_one_of_four_in_either_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_LOGS__LEVEL", "info")
    assert max_level(Settings().logs.level) == "WARNING"
    monkeypatch.setenv("OPENBRAIN_LOGS__LEVEL", "verbose")
    with pytest.raises(ValueError, match="must be DEBUG, INFO, WARNING or ERROR"):
        Settings()


@pytest.mark.parametrize(
    ("proxy", "right"),
    [
        ("10.0.0.7", True),
        ("10.0.0.0/8", True),
        ("fd00::/8", True),
        ("*", True),
        ("10.0.0.7/8", False),
        ("proxy", False),
    ],
)
def test_a_proxy_is_trusted_by_its_address(monkeypatch: pytest.MonkeyPatch, proxy: str, *, right: bool) -> None:
    monkeypatch.setenv("OPENBRAIN_SERVER__TRUSTED_PROXIES", json.dumps([proxy]))
    if right:
        assert Settings().server.trusted_proxies == (proxy,)
    else:
        with pytest.raises(ValueError, match=f"{proxy} is no address, and no network such as"):
            Settings()


def test_seconds_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_STREAMS__LEASE_S", "inf")
    with pytest.raises(ValueError, match="finite number"):
        Settings()
