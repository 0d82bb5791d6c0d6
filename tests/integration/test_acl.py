"""The users of the stream server, on real servers that load the ACL file: each can do its work, and nothing else."""

import dataclasses
import json
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from openbrain.domain.errors import TryLater
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import BROADCAST, SIGNAL_ACKNOWLEDGED, SIGNAL_RAISED, STORED, STREAMS, SUBMITTED
from openbrain.ports.streams import DeadFilter
from openbrain.settings import Streams
from openbrain.streams.operating import acl
from openbrain.streams.operating.administration import RedisStreams
from openbrain_cli.operators.streams.service_groups import _prepared
from openbrain_cli.system.run import SERVICE_APPS
from tests.integration.conftest import Servers, environment, prepared
from tests.servers.plugin import need
from tests.servers.processes.process import Server, ServerProcess
from tests.servers.redis_server import redis_recipe, valkey_recipe
from tests.support.cli.services import services
from tests.support.cli.terminal import PROGRAM
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)
RECIPES = {"redis": redis_recipe, "valkey": valkey_recipe}
PREFIX = "guarded."
OBSERVER = "user observer on >watching ~* &* +@all"


@dataclasses.dataclass(frozen=True)
class Guarded:
    """A server that loaded our ACL file, and the users' passwords."""

    port: int
    passwords: dict[str, str]

    def url(self, user: str) -> str:
        return f"redis://{user}:{self.passwords[user]}@127.0.0.1:{self.port}/0"

    def client(self, user: str) -> Redis:
        return Redis.from_url(self.url(user), protocol=2)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(params=list(RECIPES))
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guarded]:
    need(request.param)
    folder = tmp_path / "acl"
    command = [str(PROGRAM), "acl", "--write", str(folder), "--workspace", "team-a", "--workspace", "team-b"]
    made = {"PATH": "/usr/bin:/bin", "OPENBRAIN_STREAMS__PREFIX": PREFIX}
    subprocess.run(command, check=True, env=made, capture_output=True)
    assert (folder / "passwords").stat().st_mode & 0o077 == 0
    file = folder / "users.acl"
    file.write_text(file.read_text() + OBSERVER + "\n")
    passwords = dict(line.split() for line in (folder / "passwords").read_text().splitlines())
    recipe = RECIPES[request.param]()

    def start(port: int, data: Path) -> list[str]:
        return [*recipe.command(port, data), "--aclfile", str(file)]

    with ServerProcess(dataclasses.replace(recipe, command=start, answers=_listens)) as server:
        yield Guarded(server.port, {**passwords, "observer": "watching"})


@pytest.fixture
async def observer(guarded: Guarded) -> AsyncIterator[Redis]:
    async with guarded.client("observer") as client:
        yield client


async def refused(asked: object) -> bool:
    try:
        await asked  # type: ignore[misc]
    except NoPermissionError:
        return True
    return False


async def test_nobody_comes_in_without_a_name(guarded: Guarded) -> None:
    async with Redis(port=guarded.port) as nobody:
        with pytest.raises(AuthenticationError):
            await nobody.ping()
    scaler = guarded.url("scaler")
    for url, why in ((scaler, "no permissions"), (scaler.replace("scaler:", "scaler:not-"), "invalid username")):
        for wait in (0, 0.2):
            with pytest.raises(TryLater, match=why):
                await _prepared(Streams(url=url, prefix=PREFIX), wait)


@pytest.mark.slow("the first starts a stream server with all users, and the command twice")
async def test_the_scaler_counts_and_that_is_all(guarded: Guarded) -> None:
    """The commands that KEDA sends; the groups exist before it asks."""
    prepare = [str(PROGRAM), "streams", "groups", "prepare", "--wait", "20", "--json"]
    made = {"PATH": "/usr/bin:/bin", "OPENBRAIN_STREAMS__PREFIX": PREFIX}
    made["OPENBRAIN_STREAMS__URL"] = guarded.url("housekeeper")
    done = subprocess.run(prepare, check=True, env=made, capture_output=True, text=True)
    readers = [(f"{PREFIX}{spec.name}", group) for spec in STREAMS for group in spec.groups]
    assert [(each["stream"], each["group"]) for each in json.loads(done.stdout)] == readers
    assert json.loads(subprocess.run(prepare, check=True, env=made, capture_output=True).stdout) == []
    async with guarded.client("scaler") as scaler:
        assert "redis_version" in await scaler.info()
        for stream, group in readers:
            assert group.encode() in {each["name"] for each in await scaler.xinfo_groups(stream)}
            assert (await scaler.xpending(stream, group))["pending"] == 0
            assert await scaler.xlen(stream) == 0
            assert await refused(scaler.xrange(stream))
            assert await refused(scaler.xadd(stream, {"a": "b"}))
            assert await refused(scaler.xgroup_destroy(stream, group))
        assert await refused(scaler.xlen(f"{PREFIX}{BROADCAST.name}.team-a"))
        assert await refused(scaler.keys())


async def test_a_producer_appends_to_its_own_stream_and_that_is_all(guarded: Guarded, observer: Redis) -> None:
    own, signals = f"{PREFIX}{SUBMITTED.name}.team-a", f"{PREFIX}{SIGNAL_RAISED.name}.team-a"
    await observer.xadd(f"{PREFIX}{SUBMITTED.name}.team-b", {"a": "b"})
    async with guarded.client("producer-team-a") as producer:
        assert await producer.xadd(own, {"a": "b"})
        assert await producer.xadd(signals, {"a": "b"})
        for stream in (f"{PREFIX}{SUBMITTED.name}", f"{PREFIX}{SUBMITTED.name}.team-b", f"{PREFIX}memory.stored", "x"):
            assert await refused(producer.xadd(stream, {"a": "b"})), stream
        assert await refused(producer.xrange(own))
        assert await refused(producer.xrange(f"{PREFIX}{SUBMITTED.name}.team-b"))
        assert await refused(producer.xdel(own, "1-1"))
        assert await refused(producer.delete(own))
        assert await refused(producer.keys())
        assert await refused(producer.config_get("*"))
        assert await refused(producer.eval("return 1", 0))
        assert await refused(producer.publish(f"{PREFIX}{acl.WAKE}", "x"))
        assert await refused(producer.flushall())


async def test_a_subscriber_reads_its_own_broadcast_and_that_is_all(guarded: Guarded, observer: Redis) -> None:
    own, other = f"{PREFIX}{BROADCAST.name}.team-a", f"{PREFIX}{BROADCAST.name}.team-b"
    await observer.xadd(own, {"seq": "1"})
    await observer.xadd(other, {"seq": "1"})
    async with guarded.client("subscriber-team-a") as subscriber:
        assert len(await subscriber.xread({own: "0"})) == 1
        assert await subscriber.xlen(own) == 1
        assert await subscriber.xadd(f"{PREFIX}{SIGNAL_ACKNOWLEDGED.name}.team-a", {"a": "b"})
        assert await refused(subscriber.xadd(f"{PREFIX}{SIGNAL_ACKNOWLEDGED.name}.team-b", {"a": "b"}))
        assert await refused(subscriber.xadd(f"{PREFIX}{SIGNAL_RAISED.name}.team-a", {"a": "b"}))
        assert await refused(subscriber.xread({other: "0"}))
        assert await refused(subscriber.xread({own: "0", other: "0"}))
        assert await refused(subscriber.xadd(own, {"seq": "2"}))
        assert await refused(subscriber.xgroup_create(own, "mine"))
        assert await refused(subscriber.xread({f"{PREFIX}{SUBMITTED.name}.team-a": "0"}))


async def test_a_room_can_not_forge_what_others_publish(guarded: Guarded) -> None:
    for service in ("ingest", "embedder", "indexer-text", "indexer-vector", "amygdala"):
        async with guarded.client(service) as client:
            assert await refused(client.xadd(f"{PREFIX}memory.stored", {"a": "b"})), service
            assert await refused(client.xread({f"{PREFIX}{BROADCAST.name}.team-a": "0"})), service
            assert await refused(client.flushall()), service


async def test_the_api_looks_at_streams_and_makes_groups_and_forges_nothing(guarded: Guarded, observer: Redis) -> None:
    stream = f"{PREFIX}{STORED.name}"
    entry = await observer.xadd(stream, {"__data__": "x"})
    await observer.xgroup_create(stream, "embedder", entry)
    await observer.xadd(f"{stream}.embedder.dead", {"__data__": "x", "error": "Odd"})
    streams = RedisStreams(Streams(url=guarded.url("api"), prefix=PREFIX, bound_workspaces=("team-a",)))
    try:
        looked = await streams.look(STORED.name)
        assert next((each.name, each.lag, each.dead_letters) for each in looked[0].groups) == ("embedder", 0, 1)
        assert (await streams.span(STORED.name, "-", "+")).entries == 1
        (letter,), _ = await streams.dead(DeadFilter(), 10)
        assert await streams.dead_letter(letter.id) is not None
        assert await streams.make_group(STORED.name, "warehouse", at_end=True)
        assert await streams.drop_group(STORED.name, "warehouse") == 0
        assert len(await streams.look()) > 10
    finally:
        await streams.close()
    await observer.xadd(f"{PREFIX}{BROADCAST.name}.team-a", {"seq": "1"})
    async with guarded.client("api") as api:
        assert await api.xread({f"{PREFIX}{BROADCAST.name}.team-a": "0"}), "it hears for who has no Redis"
        assert await refused(api.xadd(f"{PREFIX}{BROADCAST.name}.team-a", {"a": "b"}))
        for name in (stream, f"{stream}.embedder.dead", f"{stream}.embedder.replay"):
            assert await refused(api.xadd(name, {"a": "b"})), name
            assert await refused(api.delete(name)), name
            assert await refused(api.xdel(name, "1-1")), name
            assert await refused(api.xtrim(name, maxlen=0)), name
    assert {each["object"] for each in await observer.acl_log()} <= {"xadd", "del", "xdel", "xtrim", "client|setinfo"}


@pytest.fixture
async def servers(
    tmp_path: Path,
    guarded: Guarded,
    observer: Redis,
    mariadb_url: str,
    elasticsearch_server: Server,
    ollama_server: Server,
) -> AsyncIterator[Servers]:
    watching = Server("redis", guarded.url("observer"), guarded.port, 0)
    name = PREFIX.rstrip(".")
    values = environment(
        name, redis=watching, mariadb_url=mariadb_url, elasticsearch=elasticsearch_server, ollama=ollama_server
    )
    made = await prepared({**values, "OPENBRAIN_STREAMS__BOUND_WORKSPACES": '["team-a"]'}, name, tmp_path)
    yield made
    await made.store.close()
    await made.redis.aclose()


@pytest.mark.slow("every service is a process of its own with a user of its own")
async def test_every_room_does_its_work_as_its_own_user(
    guarded: Guarded, observer: Redis, servers: Servers, tmp_path: Path
) -> None:
    with services(servers.environment, tmp_path) as started:
        for service in SERVICE_APPS:
            started.start(service, OPENBRAIN_STREAMS__URL=guarded.url(service))
        await started.all_ready()
        api = next(each for each in started.started if each.service == "api")
        async with guarded.client("producer") as producer:
            await servers.submit(1, "Ship 1 carries tea.")
            assert await producer.xadd(PREFIX + SUBMITTED.name, {"__data__": "not json"})
            alarm = SignalRaised(workspace_id="default", source="disk", severity="nuclear", title="fire")
            event = encode(SIGNAL_RAISED.name, alarm, event_id="e-1", at=0)
            assert await producer.xadd(PREFIX + SIGNAL_RAISED.name, {FIELD: event})
        async with servers.http(api.url) as http:
            stored = (
                await http.post("/v1/brain/remember", json={"content": "Ship 2 carries salt.", "type": "fact"})
            ).json()

            async def found() -> bool:
                answer = await http.post("/v1/brain/recall", json={"query": "what do ships carry?"})
                return bool(answer.json()["count"] == 2)

            await until(found, pause=0.1)
            await until(lambda: _dead(observer), pause=0.1)
            await until(lambda: _heard(observer), pause=0.1)
            (await http.delete(f"/v1/brain/memories/{stored['id']}", params={"erase": "1"})).raise_for_status()

            async def purged() -> bool:
                listed = (await http.get("/v1/admin/operations")).json()["operations"]
                return [each["status"] for each in listed] == ["done"]

            await until(purged, pause=0.1)
        assert [process.stop() for process in started.started] == [0] * len(SERVICE_APPS)
    assert [(each["username"], each["context"], each["object"]) for each in await observer.acl_log()] == []


async def _dead(observer: Redis) -> bool:
    return bool(await observer.xlen(f"{PREFIX}{SUBMITTED.name}.ingest.dead"))


async def _heard(observer: Redis) -> bool:
    return bool(await observer.xlen(f"{PREFIX}{BROADCAST.name}.default"))


async def test_a_workspace_added_later_changes_no_password(tmp_path: Path) -> None:
    def passwords(*workspaces: str) -> dict[str, str]:
        options = [option for workspace in workspaces for option in ("--workspace", workspace)]
        subprocess.run([str(PROGRAM), "acl", "--write", str(tmp_path), *options], check=True, capture_output=True)
        return dict(line.split() for line in (tmp_path / "passwords").read_text().splitlines())

    before = passwords("team-a")
    after = passwords("team-a", "team-b")
    assert before.items() <= after.items()
    assert set(after) - set(before) == {"producer-team-b", "subscriber-team-b"}
    assert not any(password in (tmp_path / "users.acl").read_text() for password in after.values())
