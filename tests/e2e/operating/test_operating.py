"""doctor, db, schema, help, and exit codes: on servers, and without any system."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from openbrain_cli.main import COMMANDS
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server
from tests.support.cli.terminal import PROGRAM, Terminal, up
from tests.support.waiting import PATIENCE_S


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("cli")
    with up(Terminal(home, home / "data")) as terminal:
        yield terminal


@pytest.fixture
def idle(tmp_path: Path) -> Terminal:
    """A terminal without a running system."""
    return Terminal(tmp_path, tmp_path / "data")


def test_doctor_proves_the_loop(running: Terminal) -> None:
    done = running.run("doctor", "--json")
    checks = {check["name"]: check for check in done.json["checks"]}

    assert (done.code, done.json["well"]) == (0, True)
    assert list(checks) == [
        *("api", "streams", "truth", "text", "vectors", "embedder"),
        *("remember", "indexed", "recall by keyword", "recall by meaning", "forget"),
    ]
    assert all(check["status"] == "green" for check in checks.values()), checks
    assert checks["streams"]["product"] == "Valkey"
    assert checks["truth"]["product"] == "SQLite"
    assert all(checks[name]["ms"] > 0 for name in ("api", "streams", "remember", "recall by meaning"))
    assert running.run("list", "--project", "openbrain-doctor", "--json").json["count"] == 0
    assert "the system works end to end" in running.run("doctor").out


def test_doctor_without_a_system_says_what_to_do(idle: Terminal) -> None:
    done = idle.run("doctor", "--json")

    assert (done.code, done.json["well"]) == (1, False)
    api = done.json["checks"][0]
    assert (api["name"], api["status"]) == ("api", "red")
    assert "openbrain up" in api["problems"][0]


def streams(terminal: Terminal, url: str) -> dict[str, object]:
    done = terminal.run("doctor", "--json", environment={"OPENBRAIN_STREAMS__URL": url})
    return next(dict(check) for check in done.json["checks"] if check["name"] == "streams")


@pytest.mark.servers("redis")
def test_doctor_sees_what_makes_redis_lose_entries(idle: Terminal, private_server: Starter) -> None:
    server = private_server("redis")
    client = Redis.from_url(server.url)
    client.config_set("maxmemory", "64mb")
    assert streams(idle, server.url)["status"] == "green"

    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("appendonly", "no")
    client.config_set("maxmemory", "0")
    found = streams(idle, server.url)
    client.close()

    assert found["status"] == "red"
    told = " ".join(found["problems"])  # type: ignore[arg-type]
    assert all(word in told for word in ("allkeys-lru", "append-only", "maxmemory is not set"))
    assert "does not answer" in str(streams(idle, "redis://127.0.0.1:9/0")["problems"])


def test_the_schema_of_a_database(idle: Terminal, mariadb_url: str) -> None:
    environment = {"OPENBRAIN_TRUTH__URL": mariadb_url}
    bare = idle.run("db", "check", environment=environment)
    assert (bare.code, "openbrain db upgrade" in bare.out) == (1, True)
    assert idle.run("db", "check", "--schema", environment=environment).code == 1
    store = next(
        c for c in idle.run("doctor", "--json", environment=environment).json["checks"] if c["name"] == "truth"
    )
    assert (store["status"], store["product"]) == ("red", "MariaDB")

    assert idle.run("db", "upgrade", "--wait", "5", environment=environment).out.startswith("upgraded from nothing")
    assert idle.run("db", "upgrade", environment=environment).out.startswith("up to date")
    left = idle.run("db", "check", "--json", environment=environment)
    # The test server is configured for speed; the risk at a power cut is reported, and nothing else.
    assert [problem.split()[0] for problem in left.json["problems"]] == ["innodb_flush_log_at_trx_commit"]
    assert left.json["revision"]
    assert left.code == 1
    assert idle.run("db", "check", "--schema", environment=environment).code == 0, "services run nevertheless"


def test_a_file_is_a_database_too(idle: Terminal) -> None:
    environment = {"OPENBRAIN_TRUTH__URL": f"sqlite+aiosqlite:///{idle.home}/truth.db"}
    assert idle.run("db", "upgrade", environment=environment).code == 0
    well = idle.run("db", "check", "--json", environment=environment)

    assert (well.code, well.json["problems"]) == (0, [])


def test_a_database_that_is_not_there(idle: Terminal) -> None:
    gone = {"OPENBRAIN_TRUTH__URL": "mysql+aiomysql://user:hidden@127.0.0.1:9/openbrain"}
    done = idle.run("db", "check", "--wait", "1", environment=gone)

    assert (done.code, len(done.err.splitlines())) == (3, 1)
    assert "hidden" not in done.err
    assert idle.run("db", "check").code == 4


def test_schema_prints_and_writes_the_contract(idle: Terminal) -> None:
    whole = idle.run("schema").json
    assert whole["asyncapi.json"]["asyncapi"].startswith("3.")
    one = idle.run("schema", "memory.submitted").json
    assert one == whole["events/memory.submitted.schema.json"]
    assert idle.run("schema", "asyncapi").json == whole["asyncapi.json"]
    assert idle.run("schema", "--write", "out").code == 0
    assert {str(path.relative_to(idle.home / "out")) for path in (idle.home / "out").rglob("*.json")} == set(whole)


def test_version(idle: Terminal) -> None:
    assert idle.run("--version").out.strip() == idle.run("version", "--json").json["openbrain"]
    assert idle.run("version").code == 0


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_costs_no_settings_and_shows_examples(idle: Terminal, command: str) -> None:
    done = idle.run(*filter(None, [command]), "--help", environment={"OPENBRAIN_STREAMS__BATCH": "broken"})

    assert (done.code, done.err) == (0, "")
    assert "Usage: openbrain" in done.out


def test_ctrl_c_is_quiet(idle: Terminal) -> None:
    process = subprocess.Popen(
        [str(PROGRAM), "remember", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=idle.env({"OPENBRAIN_URL": "http://127.0.0.1:9", "OPENBRAIN_API_KEY": "ob_x"}),
        # A process started in the background without job control ignores SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - no threads here
    )
    deadline = time.monotonic() + PATIENCE_S
    while not _waits_for_input(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out, err) == (130, b"", b"")


def _waits_for_input(pid: int) -> bool:
    """True if the process is blocked in a read of its standard input, according to Linux."""
    try:
        words = Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()
    except OSError:
        return False
    return words[:2] == ["0" if os.uname().machine == "x86_64" else "63", "0x0"]


def test_doctor_asks_each_server_itself(
    idle: Terminal, redis_server: Server, mariadb_url: str, elasticsearch_server: Server, ollama_server: Server
) -> None:
    environment = {
        "OPENBRAIN_STREAMS__URL": redis_server.url,
        "OPENBRAIN_TRUTH__URL": mariadb_url,
        "OPENBRAIN_TEXT__URL": elasticsearch_server.url,
        "OPENBRAIN_VECTORS__URL": f"elasticsearch+{elasticsearch_server.url}",
        "OPENBRAIN_EMBEDDING__URL": ollama_server.url,
        "OPENBRAIN_EMBEDDING__MODEL": "all-minilm",
    }
    assert idle.run("db", "upgrade", environment=environment).code == 0
    checks = {each["name"]: each for each in idle.run("doctor", "--json", environment=environment).json["checks"]}

    products = {name: check["product"] for name, check in checks.items()}
    assert products | {"api": ""} == {
        "api": "",
        "streams": "Redis",
        "truth": "MariaDB",
        "text": "Elasticsearch",
        "vectors": "Elasticsearch",
        "embedder": "Ollama with all-minilm",
    }
    assert all(check["version"] and check["ms"] > 0 for name, check in checks.items() if name != "api"), checks
    assert checks["embedder"]["status"] == checks["text"]["status"] == "green", checks

    gone = {**environment, "OPENBRAIN_TEXT__URL": "http://127.0.0.1:9", "OPENBRAIN_EMBEDDING__MODEL": "not-there"}
    checks = {each["name"]: each for each in idle.run("doctor", "--json", environment=gone).json["checks"]}
    assert (checks["text"]["status"], checks["embedder"]["status"]) == ("red", "red")
    assert "not-there" in checks["embedder"]["problems"][0]


def test_the_first_keys_of_a_system_on_servers_are_printed_once(idle: Terminal, tmp_path: Path) -> None:
    database = {"OPENBRAIN_TRUTH__URL": f"sqlite+aiosqlite:///{tmp_path}/truth.db"}
    assert idle.run("db", "upgrade", environment=database).code == 0
    first = idle.run("db", "first-keys", "--json", environment=database).json
    second = idle.run("db", "first-keys", environment=database)
    again = idle.run("db", "first-keys", "--again", "--json", environment=database).json

    assert set(first) == set(again) == {"default", "system"}
    assert all(secret.startswith("ob_") for secret in (*first.values(), *again.values()))
    assert not set(first.values()) & set(again.values())
    assert (second.code, second.out) == (0, "")
    assert "--again" in second.err
