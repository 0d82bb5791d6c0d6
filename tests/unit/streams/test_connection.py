"""Redis URLs, and the meaning of its errors."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio.connection import SSLConnection
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import ResponseError

from openbrain.domain.errors import Invalid, SetupError, error_text
from openbrain.domain.events.streams import STORED
from openbrain.settings import Streams
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain.streams.redis.connection import ask, connect, disconnect, is_gone, silence_s, without_login
from tests.servers.places import free_port, program
from tests.servers.plugin import Starter, need
from tests.servers.processes.probes import redis_pong
from tests.servers.processes.process import Recipe, ServerProcess
from tests.support.streams.consumers import Seen, eventually, looking, publish, scaled, service, started, stored


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://h:7/3", {"host": "h", "port": 7, "db": 3}),
        ("rediss://u:p@h", {"host": "h", "username": "u", "password": "p"}),
        ("unix:///run/valkey.sock?db=1", {"path": "/run/valkey.sock", "db": 1}),
    ],
)
def test_urls_that_redis_py_knows(url: str, expected: dict[str, Any]) -> None:
    options = connect(Streams(url=url)).connection_pool.connection_kwargs
    assert {name: options[name] for name in expected} == expected


def test_sentinel_urls() -> None:
    pool = connect(Streams(url="redis+sentinel://u:p%40w@a:1,b/main/2")).connection_pool
    assert isinstance(pool, SentinelConnectionPool)
    assert pool.service_name == "main"
    assert [each.connection_pool.connection_kwargs["port"] for each in pool.sentinel_manager.sentinels] == [1, 26379]
    assert {name: pool.connection_kwargs[name] for name in ("username", "password", "db")} == {
        "username": "u",
        "password": "p@w",
        "db": 2,
    }


def test_sentinels_have_a_login_of_their_own_and_tls() -> None:
    url = "rediss+sentinel://u:p@a:1/main?sentinel_username=s&sentinel_password=q%40&ssl_ca_certs=/ca.pem"
    pool = connect(Streams(url=url)).connection_pool
    assert isinstance(pool, SentinelConnectionPool)
    (sentinel,) = pool.sentinel_manager.sentinels
    asked = sentinel.connection_pool
    assert (asked.connection_kwargs["username"], asked.connection_kwargs["password"]) == ("s", "q@")
    assert (pool.connection_kwargs["username"], pool.connection_kwargs["password"]) == ("u", "p")
    for each in (pool, asked):
        assert issubclass(each.connection_class, SSLConnection)
        assert each.connection_kwargs["ssl_ca_certs"] == "/ca.pem"


async def test_discoveries_at_the_same_moment_keep_all_sentinels(monkeypatch: pytest.MonkeyPatch) -> None:
    pool: Any = connect(Streams(url="redis+sentinel://a,b,c/main")).connection_pool
    manager = pool.sentinel_manager
    sentinels = list(manager.sentinels)
    state = {"is_master": True, "is_sdown": False, "is_odown": False, "ip": "m", "port": 7, "num-other-sentinels": 2}

    async def down() -> Any:
        await asyncio.sleep(0)
        raise NotConnected

    async def up() -> Any:
        await asyncio.sleep(0)
        return {"main": state}

    for sentinel, answer in zip(sentinels, (down, down, up), strict=True):
        monkeypatch.setattr(sentinel, "sentinel_masters", answer)
    found = await asyncio.gather(*(pool.get_master_address() for _ in range(5)))

    assert found == [("m", 7)] * 5
    assert manager.sentinels[0] is sentinels[2]
    assert set(manager.sentinels) == set(sentinels)


async def test_a_sentinel_that_does_not_answer_is_asked_once() -> None:
    """A failover often takes a Sentinel's machine too: every further attempt delays asking the next one."""
    asked = 0

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as down:
        client = connect(Streams(url=f"redis+sentinel://127.0.0.1:{down.sockets[0].getsockname()[1]}/main"))
        with pytest.raises(NotConnected):
            await ask(client, "PING")
        await disconnect(client)

    assert asked == 1


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://h/main?ssl_ca_certs=x",
        "rediss+sentinel://h/main?x=1",
        "embedded",
        "http://h",
        "",
        "redis+sentinel://",
        "redis+sentinel://h:1",
        "redis+sentinel://h:x/main",
    ],
)
def test_urls_that_cannot_work_say_what_to_write(url: str) -> None:
    with pytest.raises(SetupError, match="OPENBRAIN_STREAMS__URL must"):
        connect(Streams(url=url))


def test_a_silent_network_is_told_from_an_empty_stream() -> None:
    assert silence_s(Streams()) == 5
    assert silence_s(Streams()) > Streams().tuning.poll_s


def test_a_login_is_not_shown() -> None:
    assert without_login("redis://u:secret@h:1/2?password=x") == "redis://h:1/2"


def test_what_is_gone() -> None:
    assert is_gone(ResponseError("NOGROUP No such key"))
    assert is_gone(ResponseError("ERR no such key"))
    assert not is_gone(ResponseError("WRONGTYPE Operation"))
    assert not is_gone(ConnectionError("NOGROUP"))


def test_of_a_foreign_error_only_its_place_is_kept() -> None:
    with pytest.raises(KeyError) as met:
        dict[str, str]()["a memory's content"]
    said = error_text(met.value)
    assert "content" not in said
    assert said.startswith("an unexpected error in test_of_a_foreign_error_only_its_place_is_kept, ")
    assert error_text(Invalid("tags", "at most 50")) == "tags: at most 50"


@pytest.fixture
def sentinel(private_server: Starter, tmp_path: Path) -> Iterator[tuple[ServerProcess, int]]:
    """A Redis server and a Sentinel that monitors it."""
    need("redis")
    server, port = private_server("redis"), free_port()
    configuration = tmp_path / "sentinel.conf"
    configuration.write_text(f"port {port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {server.port} 1\n")
    recipe = Recipe(
        name="sentinel",
        url="redis+sentinel://127.0.0.1:{port}/main",
        command=lambda _port, _data: [str(program("redis-server")), str(configuration), "--sentinel"],
        answers=redis_pong,
    )
    with ServerProcess(recipe, port=port):
        yield server, port


@pytest.mark.servers("redis")
async def test_the_master_is_found_by_sentinel(sentinel: tuple[ServerProcess, int]) -> None:
    server, port = sentinel
    settings, seen = scaled(f"redis+sentinel://127.0.0.1:{port}/main"), Seen()
    async with started(service(settings, seen)):
        await publish(settings, stored(1))
        await eventually(lambda: seen.all == [1])
    async with looking(settings.model_copy(update={"url": server.url})) as looks:
        assert await looks.idle()


@pytest.mark.servers("redis")
async def test_any_number_of_reads_may_wait_at_once(redis_server: ServerProcess) -> None:
    """One for each workspace that a process listens to, or each stream that a service reads."""
    client = connect(scaled(redis_server.url))
    reads = [ask(client, "XREAD", "BLOCK", 300, "STREAMS", f"nosuch.{number}", "0") for number in range(150)]
    answers = await asyncio.gather(*reads, return_exceptions=True)
    await disconnect(client)

    assert answers == [[]] * len(reads)
    by_sentinel = connect(Streams(url="redis+sentinel://h/main")).connection_pool
    assert by_sentinel.max_connections == client.connection_pool.max_connections


@pytest.mark.parametrize("url", ["redis://:hush@h:port/0", "rediss://me:hush@h:99999"])
def test_what_can_not_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(SetupError, match="can't be read") as told:
        connect(Streams(url=url))
    assert "hush" not in str(told.value)
    assert "port/0" not in str(told.value)


def test_a_room_refuses_its_url_before_it_serves() -> None:
    """Otherwise the process would run without reading anything."""

    async def handler(_: Any) -> None: ...

    with pytest.raises(SetupError, match="OPENBRAIN_STREAMS__URL must begin"):
        Service("embedder", [Subscription(spec=STORED, handler=handler)], Streams(url="nosuch://h")).app()


@pytest.mark.parametrize(
    ("parameter", "told"),
    [
        ("socket_timeout=1", "must not set socket_timeout"),
        ("max_connections=5", "must not set max_connections"),
        ("protocol=3&decode_responses=True", "must not set decode_responses, protocol"),
        ("bogus=secret", "does not exist, among bogus"),
        ("ssl_cert_reqs=none", "does not exist, among ssl_cert_reqs"),
    ],
)
def test_a_parameter_that_would_break_reading_is_refused_at_once(parameter: str, told: str) -> None:
    with pytest.raises(SetupError, match=told) as raised:
        connect(Streams(url=f"redis://localhost/0?{parameter}"))

    assert "secret" not in str(raised.value)


def test_other_parameters_are_passed_on() -> None:
    url = "rediss://localhost/0?ssl_cert_reqs=none&health_check_interval=5&client_name=ours"
    options = connect(Streams(url=url)).connection_pool.connection_kwargs

    assert (options["ssl_cert_reqs"], options["health_check_interval"], options["client_name"]) == ("none", 5, "ours")
