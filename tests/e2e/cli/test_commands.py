"""The command line against a running `openbrain up`."""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.support.cli.terminal import Terminal, up, wait_until

UNKNOWN = "0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00"


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("cli")
    with up(Terminal(home, home / "data")) as running:
        yield running


def remembered(terminal: Terminal, text: str, *options: str) -> str:
    done = terminal.run("remember", text, "--json", *options)
    assert done.code == 0, done.err
    return str(done.json["id"])


def test_many_questions_from_a_file(terminal: Terminal) -> None:
    for text in ("The gate opens at dawn.", "A lantern hangs at the quay."):
        assert terminal.run("remember", text, "--project", "harbour", "--wait", "30").code == 0
    file = terminal.home / "questions.txt"
    file.write_text('when does the gate open?\n\n{"query": "lantern", "top_k": 1, "project": "nowhere"}\nlantern\n')

    told = terminal.run("recall", "--from-file", str(file), "--project", "harbour", "-k", "1", "--json")
    shown = terminal.run("recall", "--from-file", str(file), "--project", "harbour", "-k", "1")
    many = terminal.run("recall", "--from-file", "-", "--json", stdin="lantern\n" * 120)
    bad = terminal.run("recall", "--from-file", "-", "--json", stdin='gate\n{"query": "gate", "top_k": 5000}\n')

    answers = [orjson.loads(line) for line in told.out.splitlines()]
    assert [each["query"] for each in answers] == ["when does the gate open?", "lantern", "lantern"]
    assert [[found["content"] for found in each["memories"]] for each in answers] == [
        ["The gate opens at dawn."],
        [],
        ["A lantern hangs at the quay."],
    ]
    assert told.err == ""
    assert "# when does the gate open?" in shown.out
    assert "The gate opens at dawn." in shown.out
    assert (many.code, len(many.out.splitlines())) == (0, 120)
    assert (bad.code, bad.err) == (1, "1 of 2 questions were refused\n")
    assert orjson.loads(bad.out.splitlines()[1])["field"] == "top_k"


def test_a_file_that_holds_no_questions_is_refused_before_anything_is_asked(terminal: Terminal) -> None:
    for content, named in ((b"good\n{bad\n", "line 2"), (b"caf\xe9\n", "line 1")):
        done = terminal.run("recall", "--from-file", "-", stdin=content)
        assert (done.code, done.out) == (1, "")
        assert named in done.err
    assert terminal.run("recall", "--from-file", "missing.txt").code == 1
    assert terminal.run("recall", "both", "--from-file", "-").code == 2
    assert terminal.run("recall").code == 2


def test_remember_recall_list_show_forget(terminal: Terminal) -> None:
    memory = remembered(terminal, "The cache key must hold the tenant.", "--type", "bug", "--project", "shop")
    told = terminal.run("remember", "The cache key must hold the tenant.", "--type", "bug", "--project", "shop")
    assert told.out == f"{memory}  was there already\n"
    other = terminal.run("remember", "Deploys are on Tuesdays.", "--project", "ops", "--wait", "30")
    assert other.out.endswith("stored and found\n")

    found = terminal.run("recall", "what must a cache key hold?", "--project", "shop", "--json")
    assert [each["id"] for each in found.json["memories"]] == [memory]
    told = terminal.run("recall", "what must a cache key hold?", "--project", "shop", "--explain")
    assert "0.65 x 1.000 (#1)" in told.out
    shown = terminal.run("recall", "what must a cache key hold?")
    assert memory in shown.out
    assert "The cache key must hold the tenant." in shown.out

    assert terminal.run("list", "--type", "bug", "--project", "shop", "--json").json["count"] == 1
    assert memory in terminal.run("list", "--project", "shop").out
    assert "tenant" in terminal.run("show", memory).out
    history = terminal.run("show", memory, "--history", "--json").json["history"]
    assert [line["action"] for line in history] == ["created"]

    dry = terminal.run("forget", memory, "--dry-run")
    assert "would be forgotten" in dry.out
    assert terminal.run("show", memory, "--json").json["state"] != "deleted"
    assert terminal.run("forget", memory, "--reason", "no longer true").out == f"{memory}  forgotten\n"
    assert terminal.run("recall", "cache key", "--project", "shop", "--json").json["memories"] == []
    ended = terminal.run("show", memory, "--history", "--json").json
    assert ended["history"][-1]["reason"] == "no longer true"


def test_nothing_there_is_said_plainly(terminal: Terminal) -> None:
    for command in (("recall", "anything", "--project", "empty"), ("list", "--project", "empty")):
        done = terminal.run(*command)
        assert (done.code, done.out) == (0, "")
        assert len(done.err.splitlines()) == 1
        assert terminal.run(*command, "--json").json["memories"] == []


def test_text_from_standard_input(terminal: Terminal) -> None:
    memory = remembered(terminal, "Zeile eins\nZeile zwei: Größe", "--project", "stdin")
    again = terminal.run("remember", "-", "--project", "stdin", "--json", stdin="Zeile eins\nZeile zwei: Größe")
    assert (again.json["id"], again.json["duplicate"]) == (memory, True)
    assert (
        terminal.run("remember", "-", stdin=b"\xff\xfe").err == "openbrain: content: standard input is not UTF-8 text\n"
    )
    assert "at most 50000" in terminal.run("remember", "-", stdin="x" * 200_001).err


def test_remembered_text_is_data(terminal: Terminal) -> None:
    """No text of it controls the terminal, and no markup is interpreted."""
    text = "[bold]x[/bold] [link=http://evil]y[/link] \u202egnp.exe \u316431m\u200b"
    memory = remembered(terminal, text, "--project", "hostile", "--tag", "[red]\u2066")

    for command in (("list", "--project", "hostile"), ("show", memory), ("list", "--project", "hostile", "--json")):
        out = terminal.run(*command).out
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\u3164]", out)
        assert "[bold]x[/bold]" in out
    assert terminal.run("show", memory, "--json").json["content"] == text


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (("show", UNKNOWN), 4, "no memory with this id"),
        (("forget", UNKNOWN), 4, "no memory with this id"),
        (("remember", ""), 1, "content: "),
        (("remember", "x", "--type", "opinion"), 1, "type: "),
        (("remember", "x" * 50_001), 1, "content: "),
        (("recall", "x", "--scope", "galaxy"), 1, "include_scopes"),
        (("list", "--url", "http://127.0.0.1:9"), 3, "can't reach http://127.0.0.1:9"),
        (("list", "--url", "https://127.0.0.2:9"), 5, "no key for https://127.0.0.2:9"),
        (("list", "--url", "ftp://x", "--key-file", "data/key"), 6, "is not a URL"),
        (("list", "--url", "http://10.0.0.1", "--key-file", "data/key"), 6, "in the clear"),
        (("list", "--data", "/nowhere"), 6, "openbrain up"),
        (("list", "--key-file", "nothing"), 5, "there is no key file"),
        (("import", "no/such/folder"), 1, "is not there"),
        (("publish", "memory.sumbitted"), 4, "choose one of memory.submitted"),
        (("schema", "memory.sumbitted"), 4, "there is no stream"),
        (("keys", "revoke", UNKNOWN), 4, "no key"),
        (("keys", "create", "x", "--permission", "everything"), 1, "permissions"),
    ],
    ids=lambda each: " ".join(each)[:40] if isinstance(each, tuple) else "",
)
def test_an_error_is_one_line_and_a_code(terminal: Terminal, command: tuple[str, ...], code: int, message: str) -> None:
    done = terminal.run(*command)

    assert done.code == code, done.err
    assert message in done.err
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("openbrain: ")
    assert "xxxx" not in done.err


@pytest.mark.parametrize(
    "command", [("nope",), ("recall",), ("list", "--limit", "many"), ("list", "--nope"), ("keys", "x")]
)
def test_wrong_use_is_told_with_the_usage(terminal: Terminal, command: tuple[str, ...]) -> None:
    done = terminal.run(*command)

    assert done.code == 2
    assert "Usage:" in done.err
    assert "Traceback" not in done.err


def test_a_wrong_key_opens_nothing_and_a_wrong_setting_is_named(terminal: Terminal) -> None:
    done = terminal.run("list", environment={"OPENBRAIN_API_KEY": "ob_wrong"})
    assert (done.code, len(done.err.splitlines())) == (5, 1)
    assert "ob_wrong" not in done.err
    done = terminal.run("list", environment={"OPENBRAIN_STREAMS__BATCH": "many"})
    assert (done.code, done.err[:45]) == (6, "openbrain: the setting OPENBRAIN_STREAMS__BATCH"[:45])


def test_workspaces_and_keys(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.run("workspaces", "create", "acme", "--name", "Acme").code == 0
    assert terminal.run("workspaces", "create", "acme").code == 1
    listed = terminal.run("workspaces", "list", "--json").json["workspaces"]
    assert {each["id"] for each in listed} >= {"acme", "default"}
    assert "Acme" in terminal.run("workspaces", "list").out

    file = tmp_path / "acme-key"
    made = terminal.run("keys", "create", "ci", "--agent", "bot", "--workspace", "acme", "--write", str(file), "--json")
    assert made.code == 0, made.err
    assert "key" not in made.json
    assert file.stat().st_mode & 0o777 == 0o600
    assert terminal.run("list", "--key-file", str(file), "--json").json["count"] == 0
    again = terminal.run("keys", "create", "ci", "--write", str(file))
    assert (again.code, "can't be created" in again.err) == (6, True)

    assert made.json["id"] in terminal.run("keys", "list", "--workspace", "acme").out
    assert terminal.run("workspaces", "list", "--key-file", str(file)).code == 5
    assert terminal.run("keys", "revoke", made.json["id"], "--workspace", "acme").code == 0
    states = terminal.run("keys", "list", "--workspace", "acme", "--json").json["keys"]
    assert states[0]["revoked_at"]


def test_a_new_key_is_printed_alone(terminal: Terminal) -> None:
    wrong = terminal.run("keys", "create", "script", "--toolset", "most")
    done = terminal.run("keys", "create", "script", "--permission", "brain.read", "--toolset", "vault")

    assert (wrong.code, "--toolset: name core, signals" in wrong.err) == (1, True), wrong.err
    assert re.fullmatch(r"ob_[\w-]{43}\n", done.out)
    (made,) = [key for key in terminal.run("keys", "list", "--json").json["keys"] if key["name"] == "script"]
    assert "vault" in made["toolsets"]
    assert terminal.run("list", environment={"OPENBRAIN_API_KEY": done.out.strip()}).code == 0
    assert terminal.run("remember", "x", environment={"OPENBRAIN_API_KEY": done.out.strip()}).code == 5


def test_what_is_published_becomes_a_memory(terminal: Terminal) -> None:
    bare = '{"content": "Build 4711 ran out of disk.", "type": "bug", "project": "ci"}'
    assert terminal.run("publish", "memory.submitted", stdin=bare).code == 1
    dry = terminal.run("publish", "memory.submitted", "--workspace", "default", "--dry-run", stdin=bare)
    assert dry.out == "1 would be published to memory.submitted\n"
    assert terminal.run("list", "--project", "ci", "--json").json["count"] == 0
    sent = terminal.run("publish", "memory.submitted", "--workspace", "default", "--json", stdin=f"{bare}\n{bare}")
    assert len(sent.json["entries"]) == 2
    wait_until(lambda: terminal.run("list", "--project", "ci", "--json").json["count"] > 0)
    found = terminal.run("list", "--project", "ci", "--json").json
    assert [each["content"] for each in found["memories"]] == ["Build 4711 ran out of disk."]


def test_a_reader_that_has_seen_enough_gets_no_complaint(terminal: Terminal) -> None:
    import subprocess

    from tests.support.cli.terminal import PROGRAM

    done = subprocess.run(
        f"{PROGRAM} schema | head -c 10", shell=True, capture_output=True, text=True, env=terminal.env({}), check=False
    )

    assert (len(done.stdout), done.stderr) == (10, "")
