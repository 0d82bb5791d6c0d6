"""The TypeScript client: strict, generated from the API's document; its subscriber loses nothing when connections
break."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.signals.values import Raise, Severity
from openbrain_api.handlers import ROUTES
from openbrain_api.openapi.document import document
from tests.servers.places import ROOT
from tests.servers.plugin import need
from tests.servers.tools.npm_clients import OPENAPI_TYPESCRIPT
from tests.support.api.brain import Brain, http
from tests.support.api.served import served
from tests.support.processes.finished import finished
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.servers("openapi-typescript"),
    pytest.mark.slow("for the first one, TypeScript's compiler goes through all routes"),
]
CLIENT = ROOT / "clients" / "typescript"
PROGRAMS = ROOT / "tests" / "samples" / "generated_clients"
NAMES = ("program", "guarded", "refused", "standing")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs, checked and compiled with the client's sources as for a release."""
    need("openapi-typescript")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    node, modules = shutil.which("node") or "node", OPENAPI_TYPESCRIPT.folder / "node_modules"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "schema.ts"))
    for name in NAMES:
        shutil.copy(PROGRAMS / f"{name}.ts", folder / "src")
    (folder / "node_modules").symlink_to(modules)
    (folder / "openapi.json").write_bytes(document(ROUTES))
    asyncio.run(finished([node, OPENAPI_TYPESCRIPT.program, "openapi.json", "-o", "src/schema.ts"], folder))
    # The compiler's library was checked before it was released.
    asyncio.run(finished([node, str(modules / "typescript" / "bin" / "tsc"), "--skipDefaultLibCheck"], folder))
    return folder / "dist"


async def started(programs: Path, name: str, *arguments: str) -> asyncio.subprocess.Process:
    command = (shutil.which("node") or "node", str(programs / f"{name}.js"), *arguments)
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def lines(process: asyncio.subprocess.Process) -> AsyncIterator[Any]:
    assert process.stdout
    while line := await asyncio.wait_for(process.stdout.readline(), PATIENCE_S):
        yield json.loads(line)


async def raised(client: httpx.AsyncClient, title: str) -> None:
    body = {"source": title, "severity": "warning", "title": title}
    assert (await client.post("/v1/amygdala/signals", json=body)).status_code == 201


async def test_it_remembers_recalls_and_hears_across_a_broken_connection(brain: Brain, programs: Path) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    async with brain.services(), http(brain.app(), key) as client, served(brain.app()) as url:
        await raised(client, "the first")
        async with TcpProxy(urlsplit(url).port or 0).open() as proxy:
            process = await started(programs, "program", f"http://127.0.0.1:{proxy.port}", key)
            said = lines(process)
            remembered, refused, first = [await anext(said) for _ in range(3)]
            proxy.cut()
            await raised(client, "while it was cut off")
            second = await anext(said)
            proxy.cut()
            await client.post("/v1/amygdala/halts", json={"title": "stop"})
            halt = await anext(said)
            await raised(client, "the last")
            rest = [each async for each in said]
            assert await process.wait() == 0

    assert remembered["stored"] == remembered["found"]
    assert refused == {"refused": "query", "status": 422}
    assert (first["title"], second["title"]) == ("the first", "while it was cut off")
    assert (halt["title"], halt["halted"]) == ("stop", True)
    assert [each.get("title") for each in rest] == ["the last", None]
    assert len({each["seq"] for each in (first, second, halt, rest[0])}) == 4


async def test_halts_that_stand_at_the_start_halt_and_neither_those_of_others_nor_of_before(
    brain: Brain, programs: Path
) -> None:
    key = await brain.key(permissions=frozenset(Permission))

    async def halted(client: httpx.AsyncClient, **scope: str) -> str:
        answer = await client.post("/v1/amygdala/halts", json={"title": "stop", **scope})
        return f"/v1/amygdala/halts/{answer.json()['halt']['id']}"

    async with brain.services(), http(brain.app(), key) as client, served(brain.app()) as url:
        others = await halted(client, scope="project", org="acme", project="other")
        everyones = await halted(client)
        process = await started(programs, "guarded", url, key)

        async def acknowledged() -> bool:
            return bool((await client.get(everyones)).json()["acks"])

        await until(acknowledged)
        await client.post(f"{everyones}/resume", json={})
        said = [each async for each in lines(process)]
        assert await process.wait() == 0
        assert (await client.get(others)).json()["acks"] == []
        await raised(client, "the last")
        process = await started(programs, "guarded", url, key, "0")
        replayed = [each async for each in lines(process)]

    assert [each["heard"] is not None for each in said if "heard" in each] == [True]
    assert {each["title"] for each in replayed if "title" in each} == {"stop", "the last"}
    assert not any(each.get("halted") for each in replayed)


async def test_a_handler_may_wait_for_the_end_of_a_halt_and_a_lost_acknowledgement_is_repeated(
    brain: Brain, programs: Path
) -> None:
    key, app = await brain.key(permissions=frozenset(Permission)), brain.app()
    signals = [
        Raise(
            workspace_id="w1",
            source=f"probe-{number}",
            severity=Severity.WARNING,
            title="it burns",
            content="",
            actor="probe",
            at=brain.clock.now(),
        )
        for number in range(130)
    ]
    await brain.store.signals.raise_signals(signals)
    lost: list[str] = []

    async def losing(scope: Any, receive: Any, send: Any) -> None:
        """The app; it gives no answer to the first acknowledgement of each halt."""
        path = scope.get("path", "")
        if path.endswith("/ack") and path not in lost:
            lost.append(path)
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    async with brain.services(), http(app, key) as client, served(losing) as url:

        async def halted(title: str) -> str:
            answer = await client.post("/v1/amygdala/halts", json={"title": title})
            return f"/v1/amygdala/halts/{answer.json()['halt']['id']}"

        async def resumed(halt: str) -> None:
            async def acknowledged() -> bool:
                return bool((await client.get(halt)).json()["acks"])

            await until(acknowledged)
            await client.post(f"{halt}/resume", json={})

        standing = await halted("at the start")
        process = await started(programs, "standing", url, key)
        said = lines(process)
        assert await anext(said) == {"title": "at the start", "halted": True, "scope": "workspace"}
        await resumed(standing)
        assert await anext(said) == {"halted": False}
        later = await halted("later")
        assert await anext(said) == {"title": "later", "halted": True, "scope": "workspace"}
        await resumed(later)
        assert await anext(said) == {"halted": False}
        await raised(client, "the last")
        assert [each async for each in said] == [{"told": 132}]
        assert await process.wait() == 0
    assert len(lost) == 2


async def test_who_is_no_longer_heard_is_not_let_through(brain: Brain, programs: Path) -> None:
    async with served(brain.app()) as url:
        process = await started(programs, "refused", url)
        (said,) = [each async for each in lines(process)]

    assert said == {"run": "rejected", "guard": "rejected"}
