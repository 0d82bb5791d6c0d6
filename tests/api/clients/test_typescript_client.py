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
from tests.servers.places import ROOT
from tests.servers.plugin import need
from tests.servers.tools.npm_clients import OPENAPI_TYPESCRIPT
from tests.support.api.brain import Brain, http
from tests.support.api.served import served
from tests.support.processes.finished import finished
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.servers("openapi-typescript")
CLIENT = ROOT / "clients" / "typescript"
PROGRAMS = ROOT / "tests" / "samples" / "generated_clients"


async def built(folder: Path, url: str, name: str = "program") -> Path:
    """The program with the client's sources, checked and compiled as for a release."""
    node, modules = shutil.which("node") or "node", OPENAPI_TYPESCRIPT.folder / "node_modules"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "schema.ts"))
    shutil.copy(PROGRAMS / f"{name}.ts", folder / "src")
    (folder / "node_modules").symlink_to(modules)
    await finished([node, OPENAPI_TYPESCRIPT.program, f"{url}/openapi.json", "-o", "src/schema.ts"], folder)
    # The compiler's library was checked before it was released.
    await finished([node, str(modules / "typescript" / "bin" / "tsc"), "--skipDefaultLibCheck"], folder)
    return folder / "dist" / f"{name}.js"


async def started(program: Path, *arguments: str) -> asyncio.subprocess.Process:
    command = (shutil.which("node") or "node", str(program), *arguments)
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def lines(process: asyncio.subprocess.Process) -> AsyncIterator[Any]:
    assert process.stdout
    while line := await asyncio.wait_for(process.stdout.readline(), PATIENCE_S):
        yield json.loads(line)


async def raised(client: httpx.AsyncClient, title: str) -> None:
    body = {"source": title, "severity": "warning", "title": title}
    assert (await client.post("/v1/amygdala/signals", json=body)).status_code == 201


@pytest.mark.slow("TypeScript's compiler goes through all routes")
async def test_it_remembers_recalls_and_hears_across_a_broken_connection(brain: Brain, tmp_path: Path) -> None:
    need("openapi-typescript")
    key = await brain.key(permissions=frozenset(Permission))
    async with brain.services(), http(brain.app(), key) as client, served(brain.app()) as url:
        program = await built(tmp_path / "client", url)
        await raised(client, "the first")
        async with TcpProxy(urlsplit(url).port or 0).open() as proxy:
            process = await started(program, f"http://127.0.0.1:{proxy.port}", key)
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


@pytest.mark.slow("TypeScript's compiler goes through all routes")
async def test_halts_that_stand_at_the_start_halt_and_neither_those_of_others_nor_of_before(
    brain: Brain, tmp_path: Path
) -> None:
    need("openapi-typescript")
    key = await brain.key(permissions=frozenset(Permission))

    async def halted(client: httpx.AsyncClient, **scope: str) -> str:
        answer = await client.post("/v1/amygdala/halts", json={"title": "stop", **scope})
        return f"/v1/amygdala/halts/{answer.json()['halt']['id']}"

    async with brain.services(), http(brain.app(), key) as client, served(brain.app()) as url:
        program = await built(tmp_path / "client", url, "guarded")
        others = await halted(client, scope="project", org="acme", project="other")
        everyones = await halted(client)
        process = await started(program, url, key)

        async def acknowledged() -> bool:
            return bool((await client.get(everyones)).json()["acks"])

        await until(acknowledged)
        await client.post(f"{everyones}/resume", json={})
        said = [each async for each in lines(process)]
        assert await process.wait() == 0
        assert (await client.get(others)).json()["acks"] == []
        await raised(client, "the last")
        process = await started(program, url, key, "0")
        replayed = [each async for each in lines(process)]

    assert [each["heard"] is not None for each in said if "heard" in each] == [True]
    assert {each["title"] for each in replayed if "title" in each} == {"stop", "the last"}
    assert not any(each.get("halted") for each in replayed)


@pytest.mark.slow("TypeScript's compiler goes through all routes")
async def test_who_is_no_longer_heard_is_not_let_through(brain: Brain, tmp_path: Path) -> None:
    need("openapi-typescript")
    async with served(brain.app()) as url:
        process = await started(await built(tmp_path / "client", url, "refused"), url)
        (said,) = [each async for each in lines(process)]

    assert said == {"run": "rejected", "guard": "rejected"}
