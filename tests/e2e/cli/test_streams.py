"""streams, replay, dead: as an operator types them, on a running system."""

import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from redis import Redis

from openbrain.domain.events.streams import STORED, dead_letters
from tests.support.cli.terminal import PROGRAM, Terminal, up, wait_until

EMBEDDER = dead_letters(STORED.name, "embedder")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("cli")
    with up(Terminal(home, home / "data")) as terminal:
        yield terminal


@pytest.fixture
def redis(running: Terminal) -> Iterator[Redis]:
    with Redis(unix_socket_path=str(running.data / "streams" / "valkey.sock"), protocol=2) as client:
        yield client


def group(running: Terminal, name: str = "embedder") -> dict[str, object]:
    (stream,) = running.run("streams", "--stream", STORED.name, "--json").json["streams"]
    return next(dict(each) for each in stream["groups"] if each["name"] == name)


def test_a_replay_is_watched_to_its_end(running: Terminal, redis: Any) -> None:
    for number in range(3):
        assert running.run("remember", f"ship {number} carries tea", "--wait", "30").code == 0
    entries = redis.xlen(STORED.name)
    looked = running.run("replay", STORED.name, "--dry-run")
    done = running.run("replay", STORED.name, "--group", "indexer-text", "--json")

    assert entries >= 3
    assert f"{entries} entries would be replayed to embedder, indexer-text" in looked.out
    assert "begins at" in looked.err
    assert (done.code, done.json["operation"]["status"], done.json["operation"]["done"]) == (0, "done", entries)
    assert group(running, "indexer-text")["replaying"] == 0
    assert running.run("replay", "memory.recalled").code == 1


def test_a_group_that_rests_is_seen_and_loses_nothing(running: Terminal) -> None:
    assert running.run("streams", "pause", "embedder", "--reason", "a test").out == "embedder  paused\n"
    wait_until(lambda: _paused(running))
    memory_id = running.run("remember", "kept for later", "--json").json["id"]
    wait_until(lambda: _waiting(running) == 1)
    shown = running.run("streams", "--stream", STORED.name).out
    assert "paused" in shown
    assert running.run("show", memory_id, "--json").json["state"] != "indexed"
    assert running.run("streams", "resume", "embedder").code == 0
    wait_until(lambda: running.run("show", memory_id, "--json").json["state"] == "indexed")


def _waiting(running: Terminal) -> object:
    """Entries that are unread, or held by a read that began before the pause."""
    found: Any = group(running)
    return found["lag"] + found["pending"]


def test_a_pause_outlives_the_process(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, tmp_path / "data")
    with up(terminal) as running:
        assert running.run("streams", "pause", "embedder").code == 0
        wait_until(lambda: _paused(running))  # a service notices it within `poll_s`
        memory_id = running.run("remember", "kept for later", "--json").json["id"]
    with up(terminal) as running:
        wait_until(lambda: _paused(running))
        wait_until(lambda: _waiting(running) == 1)  # the unpublished rest is published by now
        assert running.run("show", memory_id, "--json").json["state"] != "indexed"
        assert running.run("streams", "resume", "embedder").code == 0
        wait_until(lambda: running.run("show", memory_id, "--json").json["state"] == "indexed")


def _paused(running: Terminal) -> bool:
    url = (running.data / "url").read_text().strip()
    with urllib.request.urlopen(f"{url}/ready") as answer:
        told = orjson.loads(answer.read())
    return bool(told["ready"] and told["paused"] == ["embedder"])


def test_dead_letters_are_listed_shown_replayed_and_discarded(running: Terminal, redis: Any) -> None:
    memory_id = running.run("remember", "a letter's memory", "--wait", "30", "--json").json["id"]
    ((_, fields),) = redis.xrevrange(STORED.name, count=1)
    about = {"stream": STORED.name, "group": "embedder", "error": "Refused", "message": "no", "attempts": 4}
    entry = redis.xadd(EMBEDDER, {**fields, **about})
    redis.xadd(EMBEDDER, {"__data__": "no event", **about})
    letter = f"{STORED.name}.embedder.{entry.decode()}"

    listed = running.run("dead", "list", "--group", "embedder", "--json").json
    assert [listed["count"], listed["dead_letters"][0]["id"]] == [2, letter]
    assert letter in running.run("dead", "list", "--newer-than", "1h").out
    assert memory_id not in running.run("dead", "show", letter).out
    assert memory_id in running.run("dead", "show", letter, "--body").out

    assert "1 would be replayed" in running.run("dead", "replay", letter, "--dry-run").out
    assert "1 delivered" in running.run("dead", "replay", letter).out
    assert running.run("dead", "show", letter).code == 4
    wait_until(lambda: group(running)["replaying"] == 0)
    refused = running.run("dead", "discard", "--all")
    assert (refused.code, "--yes" in refused.err) == (1, True)
    assert "1 discarded" in running.run("dead", "discard", "--group", "embedder", "--yes").out
    assert running.run("dead", "list").err == "there are no such dead letters\n"
    assert running.run("dead", "replay").code == 1


def test_one_entry_is_buried_and_a_reader_registered(running: Terminal) -> None:
    added = running.run("streams", "groups", "add", STORED.name, "warehouse", "--reason", "nightly")
    assert (added.code, added.out) == (0, f"{STORED.name}  warehouse  registered\n")
    assert group(running, "warehouse")["readers"] == "outside"
    gone = running.run("streams", "groups", "remove", STORED.name, "warehouse", "--destroy")
    assert (gone.code, gone.out) == (0, f"{STORED.name}  warehouse  destroyed\n")
    done = running.run("streams", "bury", STORED.name, "embedder", "1-0", "--reason", "gone")
    assert (done.code, "does not hold this entry" in done.err) == (1, True)


def test_watching_looks_again_and_again(running: Terminal) -> None:
    command = [str(PROGRAM), "streams", "--watch", "--every", "0.2", "--json", "--stream", STORED.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=running.env({}), cwd=running.home) as watching:
        assert watching.stdout is not None
        looks = [orjson.loads(watching.stdout.readline()) for _ in range(3)]
        watching.terminate()
    assert [look["streams"][0]["name"] for look in looks] == [STORED.name] * 3


def test_a_tenants_key_may_none_of_it(running: Terminal) -> None:
    key = (running.data / "key").read_text().strip()
    done = running.run("streams", environment={"OPENBRAIN_API_KEY": key})
    assert (done.code, "system" in done.err) == (5, True)
