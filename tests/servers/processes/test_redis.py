import pytest
import redis

from tests.servers.plugin import Starter
from tests.servers.processes.process import Server
from tests.support.waiting import PATIENCE_S


def client(url: str, timeout: float = PATIENCE_S) -> "redis.Redis":
    return redis.Redis.from_url(url, decode_responses=True, socket_timeout=timeout, retry=None)


@pytest.mark.parametrize("name", ["redis", "valkey"])
def test_a_stream_survives_kill_and_restart(private_server: Starter, name: str) -> None:
    server = private_server(name)
    with client(server.url) as link:
        link.xgroup_create("memories", "indexer", id="0", mkstream=True)
        entry = link.xadd("memories", {"body": "é"})
        link.xreadgroup("indexer", "one", {"memories": ">"})
    before = server.pid
    server.kill()
    server.start()
    assert server.pid != before
    with client(server.url) as link:
        assert link.xrange("memories") == [(entry, {"body": "é"})]
        assert link.xpending("memories", "indexer")["pending"] == 1


@pytest.mark.parametrize("name", ["redis", "valkey"])
def test_a_paused_server_answers_nothing_until_it_is_resumed(private_server: Starter, name: str) -> None:
    server = private_server(name)
    server.pause()
    with client(server.url, timeout=0.2) as link, pytest.raises(redis.TimeoutError):
        link.ping()
    server.resume()
    with client(server.url) as link:
        assert link.ping()


@pytest.mark.parametrize("name", ["redis", "valkey"])
def test_it_is_set_up_for_streams(request: pytest.FixtureRequest, name: str) -> None:
    server: Server = request.getfixturevalue(f"{name}_server")
    with client(server.url) as link:
        assert link.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert link.config_get("appendonly") == {"appendonly": "yes"}
