"""Processes on a data folder: a second start, status, stop, and the message of a command that gets no connection."""

import json
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deploy.test_alerts import ALERTS, DASHBOARD, asked
from tests.support.cli.terminal import PROGRAM, Terminal, up, wait_until
from tests.support.waiting import PATIENCE_S

URL = r"http://127\.0\.0\.1:\d+"


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("running")
    (home / "vault").mkdir()
    vault = {"OPENBRAIN_VAULTS__FOLDERS": json.dumps({"default": str(home / "vault")})}
    with up(Terminal(home, home / "data", vault)) as running:
        yield running


def test_the_line_for_agents_connects_one_from_any_folder_and_takes_it_back(terminal: Terminal, tmp_path: Path) -> None:
    printed = (terminal.home / "up.log").read_text().splitlines()  # later log lines come after it
    line = next(each.strip() for each in printed if " connect claude-code" in each).partition("   (")[0]
    words = shlex.split(line)
    bare = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}  # the environment of a desktop's programs
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "mine"}')

    def typed(*more: str) -> str:
        done = subprocess.run([*words, *more], cwd=tmp_path, env=bare, capture_output=True, text=True, check=True)
        return done.stdout

    connected = typed()
    servers = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]
    keys = terminal.run("keys", "list", "--json").json["keys"]
    removed = typed("--remove")
    left = {path.name for path in tmp_path.iterdir()}

    assert words[0] == str(PROGRAM)
    assert "connected as claude-code" in connected
    assert servers["openbrain"]["command"] == str(PROGRAM)
    assert [key["agent_id"] for key in keys if key["agent_id"]] == ["claude-code"]
    assert removed == "Claude Code is no longer connected\n"
    assert left == {".claude"}
    assert settings.read_text() == '{"model": "mine"}'
    ended = terminal.run("keys", "list", "--json").json["keys"]
    assert all(key["revoked_at"] for key in ended if key["agent_id"])
    assert not (terminal.data / "agents").exists()


def test_a_wrong_key_is_told_in_the_words_of_a_command(terminal: Terminal) -> None:
    wrong = terminal.home / "wrong.key"
    wrong.write_text("ob_nothing\n")
    wrong.chmod(0o600)
    by_file = terminal.run("list", "--key-file", str(wrong))
    by_name = terminal.run("list", environment={"OPENBRAIN_API_KEY": "ob_nothing"})

    assert (by_file.code, by_name.code) == (5, 5)
    assert f"does not know the key in {wrong}" in by_file.err
    assert "does not know the key in OPENBRAIN_API_KEY" in by_name.err
    assert "Authorization" not in by_file.err + by_name.err


def test_the_pipeline_is_seen_at_a_glance(terminal: Terminal) -> None:
    shown = terminal.run("top", "--once")
    found = terminal.run("top", "--once", "--json").json

    assert "OpenBrain http" in shown.out
    assert "memory.embedded" in shown.out
    assert found["status"] == "ok"
    assert {"ingest", "embedder", "indexer-text", "indexer-vector"} <= found["replicas"].keys()
    assert all(found["replicas"].values())
    assert found["outbox_waiting"] is not None


def test_a_scrape_holds_every_series_that_alerts_and_dashboard_ask_for(terminal: Terminal) -> None:
    """Series of the running pipeline, not just names that a service might give a value some day."""
    url, key = ((terminal.data / name).read_text().strip() for name in ("url", "admin-key"))
    typed = (
        ("remember", "The ferry leaves at nine.", "--wait", "10"),
        ("recall", "when does the ferry leave"),
        ("signals", "raise", "the ferry is gone", "--source", "quay", "--severity", "critical"),
        ("tick",),
    )
    assert [terminal.run(*words).code for words in typed] == [0] * len(typed)
    expressions = [rule["expr"] for rule in ALERTS.values()]
    expressions += [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    wanted = set().union(*map(asked, expressions))

    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S) as http:

        def lacking() -> set[str]:
            scrape = http.get("/metrics").raise_for_status().text
            return wanted - set(re.findall(r"^(openbrain_\w+)(?:\{[^}]*\})? \S+$", scrape, re.MULTILINE))

        wait_until(lambda: not lacking())


def test_a_second_start_names_the_one_that_runs_also_where_their_ports_are_the_same(terminal: Terminal) -> None:
    url = (terminal.data / "url").read_text().strip()
    for port in ("0", url.rpartition(":")[2]):
        done = terminal.run("up", "--port", port)

        assert done.code == 6
        assert re.search(rf"already running on {terminal.data}: pid \d+, {re.escape(url)}", done.err), done.err


def test_a_start_where_nothing_can_be_kept_says_so(terminal: Terminal) -> None:
    (terminal.home / "file").write_text("")
    done = terminal.run("up", "--port", "0", "--data", str(terminal.home / "file" / "brain"))

    assert done.code == 6
    assert f"nothing can be kept in {terminal.home / 'file' / 'brain'} (Not a directory)" in done.err
    assert "--data" in done.err


def test_status_and_stop(tmp_path: Path) -> None:
    with up(Terminal(tmp_path, tmp_path / "data"), ends_itself=True) as terminal:
        told, data = terminal.run("status"), terminal.run("status", "--json")
        named = terminal.run("status", "--url", data.json["url"], "--json")
        os.kill(data.json["pid"], 0)
        stopped = terminal.run("stop", "--json")
        assert not (terminal.data / "url").exists(), "it ended by itself, not by force"
    again, after = terminal.run("stop"), terminal.run("status")

    assert told.code == 0, told.err
    assert re.fullmatch(
        rf"OpenBrain \S+ on {URL}  \(pid \d+, since .* UTC\)\ndata    {terminal.data}\nhealth  ok: .*text.*\n", told.out
    )
    assert (data.json["status"], data.json["data"]) == ("ok", str(terminal.data))
    assert (named.json["status"], "pid" in named.json) == ("ok", False)
    assert (stopped.code, stopped.json["stopped"]) == (0, data.json["pid"])
    assert (again.code, again.out) == (0, f"no OpenBrain runs on {terminal.data}: there is nothing to stop\n")
    assert (after.code, after.out) == (3, f"no OpenBrain runs on {terminal.data}: start one with `openbrain up`\n")


def test_a_service_on_a_taken_port_says_that_it_did_not_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ("run", "ingest", "--port", str(taken.getsockname()[1]))
        done = Terminal(tmp_path, tmp_path / "data").run(
            *words, environment={"OPENBRAIN_STREAMS__URL": "redis://127.0.0.1:9/0"}
        )

    assert done.code == 6
    assert done.err.endswith("openbrain: the service ingest did not start: see the messages above\n")


def test_status_of_an_address_where_nothing_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = Terminal(tmp_path, tmp_path / "data").run("status", "--url", f"http://127.0.0.1:{port}", "--json")

    assert (done.code, done.json["status"]) == (3, "unreachable")
    assert "can't reach" in done.json["problem"]


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_an_address_of_ipv6_is_one_that_commands_can_call(tmp_path: Path) -> None:
    with up(Terminal(tmp_path, tmp_path / "data", {"OPENBRAIN_SERVER__HOST": "::1"})) as running:
        found = running.run("status", "--json")

    assert (found.code, found.json["status"]) == (0, "ok"), found
    assert re.fullmatch(r"http://\[::1\]:\d+", found.json["url"])
