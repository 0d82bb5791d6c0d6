"""What `openbrain connect` writes into clients' files, and how it undoes it."""

import json
import tomllib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.client.outbox import Outbox, Write
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, TryLater
from openbrain.domain.ids import uuid7
from openbrain_cli.agents import connect as connecting
from openbrain_cli.agents.clients import CLIENTS, OPENCLAW_ENGINE, Bridge, Places
from openbrain_cli.agents.config_edits import Entry, JsonEdit, TomlBlock, as_record, from_record
from openbrain_cli.agents.connections import Connection, write
from openbrain_cli.agents.hooks import events
from tests.support.api.brain import Brain
from tests.support.cli.typed_json import Terminal, terminal
from tests.support.waiting import PATIENCE_S

__all__ = ["terminal"]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)
ENTRIES = st.builds(
    Entry, st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(tuple), st.just("ours"), st.booleans()
)

BEGAN = b"""{
    "theme": "dark", "mcpServers": {"other": {"command": "x"}},
    "hooks": {"SessionStart": [{"hooks": []}]}, "env": {"BRAIN_URL": "u"}
}"""


def places(home: Path, project: Path | None = None) -> Places:
    claude = home / ".claude"
    return Places(
        home=home,
        claude=claude,
        claude_json=home / ".claude.json",
        codex=home / ".codex",
        openclaw_json=home / ".openclaw" / "openclaw.json",
        project=project,
    )


def bridge(folder: Path, program: str = "/opt/o b/openbrain") -> Bridge:
    arguments = ("mcp", "--key-file", str(folder / "key"))
    return Bridge(
        program=Path(program),
        arguments=arguments,
        connection=folder,
        url="http://127.0.0.1:1",
        secret="ob_1",
        context_engine=Path("/opt/engine"),
    )


@pytest.mark.parametrize("client_name", CLIENTS)
@pytest.mark.parametrize(
    "began",
    [
        b"",
        BEGAN,
    ],
)
def test_a_client_is_connected_twice_as_once_and_left_without_a_trace(
    tmp_path: Path, client_name: str, began: bytes
) -> None:
    client, connection = CLIENTS[client_name], Connection(tmp_path / "agents" / client_name)
    edits = client.edits(places(tmp_path / "home"), bridge(connection.folder))
    files = [Path(edit.path) for edit in edits]
    for file in files:
        if began and file.suffix == ".json":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(began)
            file.chmod(0o640)

    def connect(program: str = "/opt/o b/openbrain") -> list[bytes]:
        changes = connection.changes(client.edits(places(tmp_path / "home"), bridge(connection.folder, program)))
        connection.keep(changes, {"client": client_name})
        write(changes)
        return [file.read_bytes() for file in files]

    once = connect()
    assert connect() == once
    assert connect("/elsewhere/openbrain") != once or client_name == "agentihooks"
    assert connect() == once
    for file in files:
        assert b"openbrain" in file.read_bytes() or client_name == "agentihooks"
        if began and file.suffix == ".json":
            assert file.read_bytes().startswith(b'{\n    "theme": "dark",\n    ')
            assert file.stat().st_mode & 0o777 == 0o640
        else:
            assert file.stat().st_mode & 0o077 == 0

    write(connection.removals())
    connection.forget()
    assert [file.read_bytes() if file.exists() else b"" for file in files] == [
        began if file.suffix == ".json" else b"" for file in files
    ]
    assert not (tmp_path / "agents").exists()


def test_openclaw_gets_its_context_engine_where_one_is_named(tmp_path: Path) -> None:
    """With the agent's key, next to existing plugins."""
    named = bridge(tmp_path)
    (edit,) = CLIENTS["openclaw"].edits(places(tmp_path), named)
    before = {"plugins": {"load": {"paths": ["/opt/other"]}, "slots": {"memory": "other"}}}
    assert json.loads(edit.added(json.dumps(before).encode()))["plugins"] == {
        "load": {"paths": ["/opt/other", "/opt/engine"]},
        "slots": {"memory": "other", "contextEngine": OPENCLAW_ENGINE},
        "entries": {
            OPENCLAW_ENGINE: {"enabled": True, "config": {"baseUrl": "http://127.0.0.1:1", "apiKey": "ob_1"}},
        },
    }
    (plain,) = CLIENTS["openclaw"].edits(places(tmp_path), replace(named, context_engine=None))
    assert "plugins" not in json.loads(plain.added(b""))


def test_what_came_into_a_file_meanwhile_stays_when_ours_goes(tmp_path: Path) -> None:
    connection = Connection(tmp_path / "agents" / "claude-code")
    settings = tmp_path / "home" / ".claude" / "settings.json"
    changes = connection.changes(CLIENTS["claude-code"].edits(places(tmp_path / "home"), bridge(connection.folder)))
    connection.keep(changes, {})
    write(changes)
    document = json.loads(settings.read_bytes())
    document["hooks"]["Stop"].append({"hooks": ["of a person"]})
    settings.write_text(json.dumps(document | {"model": "new"}))

    write(connection.removals())

    assert json.loads(settings.read_bytes()) == {"hooks": {"Stop": [{"hooks": ["of a person"]}]}, "model": "new"}
    assert not (tmp_path / "home" / ".claude.json").exists()


@given(before=st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4), entries=st.lists(ENTRIES, max_size=4))
def test_what_is_added_to_json_is_removed_again_and_nothing_else(
    before: dict[str, object], entries: list[Entry]
) -> None:
    """Also if something else changed in between, so that the backup can't be restored."""
    edit = JsonEdit("settings.json", tuple({each.keys: each for each in entries}.values()))
    original = json.dumps(before).encode()
    try:
        after = edit.added(original)
    except Conflict:
        return
    assert edit.added(after) == after
    if any(one != other and other[: len(one)] == one for one in _paths(edit) for other in _paths(edit)):
        return
    changed = json.dumps(json.loads(after) | {"e": 1}).encode()
    assert json.loads(edit.removed(changed, original)) == before | {"e": 1}


def _paths(edit: JsonEdit) -> list[tuple[str, ...]]:
    return [entry.keys for entry in edit.entries]


def test_a_toml_file_keeps_its_comments_and_refuses_a_table_of_that_name() -> None:
    edit = TomlBlock("config.toml", '[mcp_servers.openbrain]\ncommand = "/o"\n', ("mcp_servers", "openbrain"))
    before = b'# mine\nmodel = "x"\n[mcp_servers.other]\ncommand = "y"  # z\n'

    after = edit.added(before)

    assert edit.added(after) == after
    assert tomllib.loads(after.decode())["mcp_servers"] == {"other": {"command": "y"}, "openbrain": {"command": "/o"}}
    assert after.startswith(before)
    assert edit.removed(after + b"[more]\n", before) == before + b"[more]\n"
    assert from_record(json.loads(json.dumps(as_record(edit)))) == edit
    with pytest.raises(Conflict, match=r"already has a table \[mcp_servers.openbrain\]"):
        edit.added(b'[mcp_servers.openbrain]\nurl = "u"\n')
    with pytest.raises(Conflict, match="can't be read as TOML"):
        edit.added(b"a = [\n")


def test_half_an_emoji_in_a_file_stays_as_it_is() -> None:
    """As a client writes that shortens a text; it can't be encoded as UTF-8."""
    edit = JsonEdit("settings.json", (Entry(("mcpServers", "openbrain"), {}),))
    before = b'{\n  "history": [\n    "cut \\ud83d"\n  ]\n}\n'
    after = edit.added(before)

    assert json.loads(after) == {"history": ["cut \ud83d"], "mcpServers": {"openbrain": {}}}
    assert edit.removed(after, before) == before


async def test_no_key_is_made_for_a_file_that_can_not_be_changed(
    brain: Brain, terminal: Terminal, tmp_path: Path
) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    env = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path), "OPENBRAIN_DATA_DIR": str(tmp_path / "data")}
    (tmp_path / "config.toml").write_text("a = [\n")
    _, before, _ = await terminal.run(key, "keys", "list")
    with pytest.raises(Conflict, match="can't be read as TOML"):
        await terminal.typed(key, "connect", "codex", **env)

    assert await terminal.run(key, "keys", "list") == (0, before, "")


async def test_what_hooks_could_not_deliver_is_not_removed_with_the_connection(
    brain: Brain, terminal: Terminal, tmp_path: Path
) -> None:
    key, folder = await brain.key(permissions=frozenset(Permission)), tmp_path / "data" / "agents" / "claude-code"
    remove = ("connect", "claude-code", "--remove", "--data", str(tmp_path / "data"))

    def connected(url: str) -> None:
        record = {"client": "claude-code", "agent": "ada", "url": url, "key_id": uuid7(0), "files": []}
        (folder / "connection.json").write_text(json.dumps(record))

    folder.mkdir(parents=True)
    (folder / "key").write_text(key)
    (folder / "key").chmod(0o600)
    connected("http://127.0.0.1:9")
    with closing(Outbox(folder / "outbox.sqlite3")) as outbox:
        outbox.keep(Write("POST", "/v1/brain/remember", {"content": "Prices: cents", "type": "fact"}).keyed())
    with pytest.raises(TryLater, match="1 writes of Claude Code's hooks wait"):
        await terminal.typed(key, *remove)
    assert folder.exists()

    connected(terminal.url)
    assert (await terminal.typed(key, *remove)).exit_code == 0
    _, listed, _ = await terminal.run(key, "list")
    assert [memory["content"] for memory in listed["memories"]] == ["Prices: cents"]
    assert not folder.exists()


async def test_what_hooks_could_not_deliver_is_sent_when_the_client_is_connected_again(
    brain: Brain, terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the next `connect` could replace the key with another agent's."""
    monkeypatch.setattr(connecting, "tools_answer", lambda _: [])
    monkeypatch.setattr(events, "PERSON_S", PATIENCE_S)
    key, data = await brain.key(permissions=frozenset(Permission)), tmp_path / "data"
    home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    for _ in range(2):
        done = await terminal.typed(key, "connect", "claude-code", "--data", str(data), **home)
        assert done.exit_code == 0, done.output
        with closing(Outbox(data / "agents" / "claude-code" / "outbox.sqlite3")) as outbox:
            assert outbox.waiting() == 0
            outbox.keep(Write("POST", "/v1/brain/remember", {"content": "Prices: cents", "type": "fact"}).keyed())

    _, listed, _ = await terminal.run(key, "list")
    assert [memory["content"] for memory in listed["memories"]] == ["Prices: cents"]


@pytest.mark.parametrize("broken", [b"// a comment\n{}", b"[1]", b'{"mcpServers": []}'])
def test_a_file_that_can_not_be_read_is_left_alone(broken: bytes) -> None:
    with pytest.raises(Conflict, match=r"settings\.json"):
        JsonEdit("settings.json", (Entry(("mcpServers", "openbrain"), {}),)).added(broken)


def test_a_project_has_files_of_its_own(tmp_path: Path) -> None:
    def files(name: str) -> set[str]:
        edits = CLIENTS[name].edits(places(tmp_path / "home", tmp_path / "shop"), bridge(tmp_path))
        return {str(Path(edit.path).relative_to(tmp_path / "shop")) for edit in edits}

    assert files("claude-code") == {".mcp.json", ".claude/settings.local.json"}
    assert files("codex") == {".codex/config.toml", ".codex/hooks.json"}
    assert files("gemini") == {".gemini/settings.json"}
    assert files("cursor") == {".cursor/mcp.json", ".cursor/hooks.json"}
