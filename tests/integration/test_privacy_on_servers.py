"""Services as processes at level DEBUG while their servers die one after another: their logs, metrics, status answers
and process titles contain nothing of what passed through, and no password of a URL."""

import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import SUBMITTED
from tests.integration.conftest import Servers, environment, prepared
from tests.servers.catalogue import server
from tests.servers.plugin import need
from tests.servers.processes.process import Server, ServerProcess
from tests.support.api.routes.marked_requests import well_formed
from tests.support.cli.services import Process, Services, services
from tests.support.processes.overhearing import Marks
from tests.support.waiting import until

ROOMS = ("housekeeper", "ingest", "embedder", "indexer-text", "indexer-vector", "api")

SERVERS = ("redis", "mariadb", "elasticsearch", "ollama")

pytestmark = pytest.mark.servers(*SERVERS)


@dataclass(frozen=True)
class Marked:
    """Servers that only these tests use, reached with passwords that are marks."""

    marks: Marks
    servers: Servers
    mortal: dict[str, ServerProcess]


def with_login(url: str, user: str, password: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{user}:{password}@{rest.rpartition('@')[2]}"


@asynccontextmanager
async def with_passwords(folder: Path, mortal: dict[str, ServerProcess]) -> AsyncIterator[Marked]:
    """Give passwords to newly started servers."""
    marks = Marks()
    passwords = {name: marks(f"password of {name}") for name in mortal}
    database = mortal["mariadb"].url
    engine = create_async_engine(database)
    async with engine.connect() as connection:
        await connection.execute(text(f"SET PASSWORD = PASSWORD('{passwords['mariadb']}')"))
    await engine.dispose()
    async with Redis.from_url(mortal["redis"].url) as redis:
        await redis.config_set("requirepass", passwords["redis"])

    def reached(name: str, user: str) -> Server:
        known = mortal[name].server
        return replace(known, url=with_login(known.url, user, passwords[name]))

    values = environment(
        f"t{uuid.uuid4().hex[:10]}",
        redis=reached("redis", ""),
        mariadb_url=with_login(database, str(make_url(database).username), passwords["mariadb"]),
        elasticsearch=reached("elasticsearch", "elastic"),
        ollama=reached("ollama", "me"),
    )
    debug = {
        "OPENBRAIN_LOGS__LEVEL": "DEBUG",
        "OPENBRAIN_STREAMS__TUNING__RECONNECT_MAX_S": "0.5",
        "OPENBRAIN_RECALL__TUNING__INDEX_TIMEOUT_S": "3",
    }
    name = values["OPENBRAIN_STREAMS__PREFIX"].removesuffix(".")
    made = await prepared({**values, **debug}, name, folder)
    yield Marked(marks, made, mortal)
    await made.store.close()
    await made.redis.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def whole(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Callable[[], Awaitable[Marked]]]:
    """Start servers for all tests of this file, and new ones after a test has killed them."""
    for name in SERVERS:
        need(name)
    async with AsyncExitStack() as stack:
        made: list[Marked] = []

        async def running() -> Marked:
            if not made or not all(each.alive for each in made[-1].mortal.values()):
                mortal = {name: stack.enter_context(server(name)) for name in SERVERS}
                folder = tmp_path_factory.mktemp("servers")
                made.append(await stack.enter_async_context(with_passwords(folder, mortal)))
            return made[-1]

        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def marked(whole: Callable[[], Awaitable[Marked]]) -> Marked:
    return await whole()


async def use(marked: Marked, api: Process) -> None:
    """Request each route with marks, and put entries with marks on the stream, whatever becomes of them."""
    async with marked.servers.http(api.url) as http:
        for request in well_formed(marked.marks, {}):
            await http.request(
                request.method,
                request.path,
                content=request.content,
                params=request.params,
                headers=dict(request.headers),
            )


async def told(started: Services) -> dict[str, str]:
    """The texts that each process exposes: log, title, metrics and status."""
    found = {}
    async with httpx.AsyncClient() as http:
        for each in started.started:
            found[f"log of {each.service}"] = each.log.read_text(encoding="utf-8")
            found[f"title of {each.service}"] = Path(f"/proc/{each.popen.pid}/cmdline").read_text(encoding="utf-8")
            for path in ("live", "ready", "metrics", "docs.json"):
                found[f"{path} of {each.service}"] = (await http.get(f"{each.url}/{path}", timeout=30)).text
    return found


def events(log: Path) -> set[str]:
    return set(re.findall(r'"event": "([\w.]+)"', log.read_text(encoding="utf-8")))


READERS = {
    "TRUTH": "ingest",
    "TEXT": "indexer-text",
    "STREAMS": "ingest",
    "EMBEDDING": "embedder",
    "VECTORS": "indexer-vector",
}
"""For each URL, a service that uses it."""


@pytest.mark.slow("the first starts the four servers of all tests here")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", READERS)
async def test_an_address_that_can_not_work_is_told_without_its_secret(
    marked: Marked, tmp_path: Path, part: str
) -> None:
    """An address without a server, a refused login, and a malformed address."""
    name, wrong = f"OPENBRAIN_{part}__URL", marked.marks
    right = marked.servers.environment[name]
    urls = [
        re.sub(r"//.*@[^/]*", f"//me:{wrong('nobody there')}@127.0.0.1:1", right),
        with_login(right, "me", wrong("refused")),
        f"nosuch://me:{wrong('no scheme')}@127.0.0.1/x",
        f"{right.partition(':')[0]}://me:{wrong('no port')}@127.0.0.1:port/x",
    ]
    with services(marked.servers.environment, tmp_path) as started:
        for url in urls:
            started.start(READERS[part], **{name: url})

        async def ended_or_said_why() -> bool:
            impossible = started.started[2]
            return impossible.popen.poll() is not None and all(each.log.stat().st_size for each in started.started)

        await until(ended_or_said_why, 120, 0.2)
        code = started.started[2].popen.returncode
    heard = {str(number): each.log.read_text(encoding="utf-8") for number, each in enumerate(started.started)}

    assert marked.marks.found(heard) == []
    assert code != 0
    assert "OPENBRAIN_" in heard["2"] or "://" in heard["2"], heard["2"]


@pytest.mark.slow("four servers die one after the other under six services")
@pytest.mark.timeout(600)
@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_is_told_while_servers_die(marked: Marked, tmp_path: Path) -> None:
    servers, marks = marked.servers, marked.marks
    with services(servers.environment, tmp_path) as started:
        for service in ROOMS:
            # Process titles are read, and a fork has its parent's title.
            started.installed = service == "api"
            started.start(service)
        await started.all_ready()
        api = started.started[-1]
        await servers.submit(1, marks("submitted"), tags=[marks("tag")], metadata={marks("key"): marks("value")})
        poison = b'{"id": "x", "data": "%s"' % marks("poison").encode()
        await servers.redis.xadd(servers.prefix + SUBMITTED.name, {FIELD: poison})
        await use(marked, api)

        async def buried() -> bool:
            return "streams.entry_dead" in events(started.started[1].log)

        await until(buried)
        for name in ("ollama", "elasticsearch", "redis", "mariadb"):
            marked.mortal[name].kill()
            await use(marked, api)

        async def noticed() -> bool:
            ingest, housekeeper = started.started[1].log, started.started[0].log
            return "streams.redis_trouble" in events(ingest) and "leader.truth_down" in events(housekeeper)

        await until(noticed)
        heard = await told(started)

    assert marks.found(heard) == []
    assert [source for source, words in heard.items() if servers.key in words] == []
    assert "api.index_did_not_answer" in heard["log of api"]
