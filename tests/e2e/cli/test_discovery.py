"""search, tags and scopes on the command line, against a running `openbrain up`."""

import re
from collections.abc import Iterator

import pytest

from tests.support.cli.terminal import Terminal, up


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("cli")
    with up(Terminal(home, home / "data")) as running:
        for text, *options in (
            ("The cache key must hold the tenant.", "--project", "shop", "--org", "acme", "--tag", "cache"),
            ("A key of the cache.", "--project", "shop", "--org", "acme", "--tag", "cache", "--tag", "ops"),
            ("[bold]harmless[/bold] \u202ecache\u200b \u316431m", "--type", "bug", "--tag", "[red]\u2066"),
        ):
            done = running.run("remember", text, "--wait", "30", *options)
            assert done.out.endswith("stored and found\n"), done.err
        yield running


def test_search_shows_where_the_words_stand(terminal: Terminal) -> None:
    found = terminal.run("search", '"cache key" tenant')
    assert found.code == 0, found.err
    assert "The cache key must hold the tenant." in found.out
    assert "A key of the cache." not in found.out
    assert found.err == "1 of 1\n"

    told = terminal.run("search", "cache", "--facet", "org", "--facet", "type", "--json", "-n", "2").json
    assert (told["count"], told["total"], bool(told["next_cursor"])) == (2, 3, True)
    assert told["facets"]["org"] == [{"name": "acme", "count": 2}, {"name": None, "count": 1}]
    assert told["hits"][0]["highlights"][0]["matches"]
    assert terminal.run("search", "cachr", "--json").json["total"] == 0
    assert terminal.run("search", "cachr", "--fuzzy", "--json").json["total"] == 3
    assert terminal.run("search", '"cache key"', "--plain-quotes", "--json").json["total"] == 3
    assert "(none)" in terminal.run("search", "cache", "--facet", "org").out


def test_tags_and_scopes(terminal: Terminal) -> None:
    tags = terminal.run("tags", "--project", "shop")
    assert re.search(r"^ *2 +cache *$", tags.out, re.MULTILINE), tags.out
    assert re.search(r"^ *1 +ops *$", tags.out, re.MULTILINE)
    assert terminal.run("tags", "--project", "shop", "--json").json["tags"][0] == {"name": "cache", "count": 2}
    assert terminal.run("tags", "-n", "1").err == "there are more: raise --limit\n"
    scopes = terminal.run("scopes")
    assert re.search(r"^ *2 +acme\s+shop *$", scopes.out, re.MULTILINE), scopes.out
    assert re.search(r"^ *1 +\(none\)\s+\(none\) *$", scopes.out, re.MULTILINE)
    assert terminal.run("scopes", "--json").json["scopes"][0]["org"] == "acme"


def test_nothing_there_is_said_plainly(terminal: Terminal) -> None:
    for command in (("search", "anything"), ("search", "?!"), ("tags",), ("scopes",)):
        done = terminal.run(*command, "--project", "empty")
        assert (done.code, done.out) == (0, "")
        assert len(done.err.splitlines()) == 1


def test_remembered_text_is_data(terminal: Terminal) -> None:
    for command in (("search", "harmless"), ("search", "harmless", "--json"), ("tags",), ("tags", "--json")):
        out = terminal.run(*command).out
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\u3164]", out)
    assert "[bold]harmless[/bold]" in terminal.run("search", "harmless").out


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (("search", ""), 1, "WORDS: is empty"),
        (("search", "x" * 2001), 1, "q: "),
        (("search", "x", "--facet", "content"), 1, "facets"),
        (("search", "x", "--type", "opinion"), 1, "type"),
    ],
)
def test_an_error_is_one_line_and_a_code(terminal: Terminal, command: tuple[str, ...], code: int, message: str) -> None:
    done = terminal.run(*command)

    assert (done.code, done.out, len(done.err.splitlines())) == (code, "", 1)
    assert message in done.err
    assert "xxxx" not in done.err
