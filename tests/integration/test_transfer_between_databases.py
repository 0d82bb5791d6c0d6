"""A workspace moves to the other database, interrupted in the middle both ways: nothing is lost, and memory stays
flat.

A thousand memories here; `OPENBRAIN_TRANSFER_ROWS=100000 pytest tests/integration/test_transfer_between_databases.py
--timeout 3600` moves a hundred thousand, and prints what it took.
"""

import os
import re
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import SqlStore, open_store
from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import DAY, Memory, MemoryType, Scope
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.writes import Edit
from openbrain.settings import Truth
from openbrain.usecases.auth import hash_secret, issue
from openbrain.usecases.transfer.lines import Footer, parse_line
from openbrain_cli.memories.transfer.export_file import check
from tests.servers.processes.process import Server
from tests.support.api.transfer import differences
from tests.support.cli.services import Process, Services, services
from tests.support.forms import long_form
from tests.support.processes import forked
from tests.support.store.fixtures import START, memory, origin, viewer, write
from tests.support.waiting import until

ROWS = int(os.environ.get("OPENBRAIN_TRANSFER_ROWS", "20000" if long_form() else "1000"))
FLAT_MB = 96
"""How much an API process may grow by an export or import of any size."""
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Place:
    """A database, an API on it, and the keys of its only workspace."""

    store: SqlStore
    services: Services
    key: str
    api: Process

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "OPENBRAIN_URL": self.api.url, "OPENBRAIN_API_KEY": self.key, "NO_COLOR": "1"}

    def http(self) -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {self.key}"}
        return httpx.AsyncClient(base_url=self.api.url, headers=headers, timeout=600)

    def cli(self, *words: str) -> str:
        status, out, err = forked.run(words, env=self.environment, cwd=Path.cwd(), stdin=b"", timeout=1800)
        assert status == 0, err.decode()
        return out.decode()

    def peak_mb(self) -> float:
        """The peak memory of the API process."""
        status = Path(f"/proc/{self.api.popen.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024


async def place(url: str, redis: Server, folder: Path, rooms_here: Services) -> Place:
    upgrade(url)
    clock = SystemClock()
    store = open_store(Truth(url=url), folder, clock)
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=clock.now()))
    key, secret = issue(workspace_id="w1", name="test", permissions=frozenset(Permission), now=clock.now())
    await store.api_keys.create_key(key, hash_secret(secret))
    return Place(store, rooms_here, secret, await live(rooms_here.start("api")))


async def live(process: Process) -> Process:
    async def answers() -> bool:
        assert process.popen.poll() is None, process.log.read_text(encoding="utf-8")[-3000:]
        try:
            async with httpx.AsyncClient() as http:
                return (await http.get(f"{process.url}/live")).status_code == 200
        except httpx.HTTPError:
            return False

    await until(answers, pause=0.1)
    return process


def environment(url: str, redis: Server, name: str) -> dict[str, str]:
    return {
        "OPENBRAIN_STREAMS__URL": redis.url,
        "OPENBRAIN_STREAMS__PREFIX": f"{name}.",
        "OPENBRAIN_TRUTH__URL": url,
        "OPENBRAIN_TEXT__URL": NOWHERE,
        "OPENBRAIN_VECTORS__URL": NOWHERE,
        "OPENBRAIN_EMBEDDING__URL": NOWHERE,
        "OPENBRAIN_LOGS__LEVEL": "WARNING",
    }


async def fill(store: SqlStore, count: int) -> None:
    """Store ordinary memories: one in ten replaces an earlier one, one in twenty was edited, one in fifty forgotten."""
    known: list[Memory] = []
    for start in range(0, count, 500):
        writes = []
        for number in range(start, min(start + 500, count)):
            content = f"memory {number}: " + "the ledger is read before it is written. " * (1 + number % 20)
            made = memory(
                content,
                START - (count - number) * 1_000_003,
                type=list(MemoryType)[number % 13],
                memory_scope=Scope.AGENT if number % 7 == 0 else Scope.PROJECT,
                agent_id=f"agent {number % 5}",
                project=f"project {number % 30}",
                tags=("ledger", f"t{number % 100}"),
                metadata={"number": number, "part": {"of": "the test"}},
                confidence=(number % 10) / 10,
                expires_at=START + number * DAY if number % 11 == 0 else None,
                supersedes_id=known.pop().id if number % 10 == 9 and known else None,
            )
            one = write(content, viewer=viewer(agent=made.agent_id), origin=origin(made.agent_id))._replace(memory=made)
            if made.supersedes_id is None and made.memory_scope is Scope.PROJECT:
                known.append(made)
            writes.append(one)
        outcomes = await store.writes.remember(writes)
        assert all(outcome.error is None for outcome in outcomes), [outcome.error for outcome in outcomes][:3]
        replaced = {each.memory.supersedes_id for each in writes}
        heads = [each.memory for each in outcomes if each.memory is not None and each.memory.id not in replaced]
        for head in heads[:25]:
            content = f"{head.content} Edited."
            seen = viewer(agent=head.agent_id)
            await store.writes.update(
                Edit(memory_id=head.id, viewer=seen, origin=origin("bob"), content=content, tags=("e",))
            )
        for head in heads[25:35]:
            await store.writes.forget(head.id, viewer(agent=head.agent_id), origin("bob"), "no longer true")
        changed = {head.id for head in heads[:35]}
        known = [each for each in known if each.id not in changed]


async def begun(source: Place, part: Path) -> None:
    """Begin an export that is cut off in the middle of a line, as a stopped command leaves it."""
    async with source.http() as http, http.stream("GET", "/v1/brain/export") as response:
        assert response.status_code == 200
        with part.open("wb") as file:
            async for chunk in response.aiter_bytes(65_536):
                file.write(chunk)
                if file.tell() > ROWS * 300:
                    break
        with part.open("r+b") as file:
            file.truncate(part.stat().st_size - 30)


async def half_sent(target: Place, file: Path) -> None:
    """Send half of an import, then go away."""
    half = file.stat().st_size // 2

    async def body() -> AsyncIterator[bytes]:
        with file.open("rb") as lines:
            while lines.tell() < half:
                yield lines.read(65_536)
        await until(some, 600, 0.05)
        raise ConnectionResetError

    async def some() -> bool:
        return await count(target) > ROWS // 5

    async with target.http() as http:
        with pytest.raises((ConnectionResetError, httpx.HTTPError)):
            await http.post("/v1/brain/import", content=body(), headers={"content-type": "application/x-ndjson"})


async def count(target: Place) -> int:
    found = await target.store._database.read(
        lambda connection: connection.exec_driver_sql("SELECT COUNT(*) FROM memories").scalar()
    )
    return int(found or 0)


_BACK = pytest.mark.long("tests/api/transfer exports from MariaDB and imports into SQLite")


@pytest.mark.slow("a thousand memories out and in again, stopped in the middle both ways")
@pytest.mark.timeout(3600 if ROWS > 10_000 else 600)
@pytest.mark.parametrize("way", ["SQLite to MariaDB", pytest.param("MariaDB to SQLite", marks=_BACK)])
async def test_a_workspace_moves_to_the_other_database(
    way: str, tmp_path: Path, mariadb_url: str, redis_server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    sqlite_url = f"sqlite+aiosqlite:///{tmp_path}/truth.db"
    urls = (sqlite_url, mariadb_url) if way.startswith("SQLite") else (mariadb_url, sqlite_url)
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    took: dict[str, float] = {}
    with (
        services(environment(urls[0], redis_server, "from"), tmp_path / "from") as here,
        services(environment(urls[1], redis_server, "to"), tmp_path / "to") as there,
    ):
        source = await place(urls[0], redis_server, tmp_path / "from", here)
        target = await place(urls[1], redis_server, tmp_path / "to", there)
        await fill(source.store, ROWS)
        file, copy = tmp_path / "all.ndjson", tmp_path / "copy.ndjson"
        source.cli("export", str(tmp_path / "little.ndjson"), "--tag", "t1", "--type", "fact")
        before = source.peak_mb()

        await begun(source, tmp_path / "all.ndjson.part")
        took["export"] = -time.perf_counter()
        source.cli("export", str(file))
        took["export"] += time.perf_counter()
        grown_by_export = source.peak_mb() - before
        assert check(file).problem == ""

        target.cli("list", "--json")
        before = target.peak_mb()
        await half_sent(target, file)
        grown_by_half = target.peak_mb() - before
        target.api.kill()
        some = await count(target)
        target = replace(target, api=await live(there.start("api")))
        target.cli("list", "--json")
        before = target.peak_mb()
        took["import"] = -time.perf_counter()
        told = target.cli("import", str(file))
        took["import"] += time.perf_counter()
        grown = {"export": grown_by_export, "half an import": grown_by_half, "import": target.peak_mb() - before}
        again = target.cli("import", str(file), "--dry-run")
        target.cli("export", str(copy))
        await source.store.close()
        await target.store.close()

    with file.open("rb") as ours, copy.open("rb") as theirs:
        found = list(differences(ours, theirs))
    footer = _footer(file)
    with capsys.disabled():
        sizes = {name: round(mb, 1) for name, mb in grown.items()}
        seconds = {name: round(each, 1) for name, each in took.items()}
        megabytes = round(file.stat().st_size / 2**20, 1)
        sys.stdout.write(
            f"\n{way}: {footer} {megabytes} MB, {some} in before it was stopped; MB grown {sizes}; s {seconds}\n"
        )
    assert found == []
    assert footer["memories"] == ROWS
    assert footer["history"] > ROWS
    assert footer["lineage"] > ROWS // 20
    assert 0 < some < ROWS
    # The database may finish a statement that it received just before the kill: `some` is the minimum.
    counts = re.search(r"(\d+) created, (\d+) already there", told)
    assert counts, told
    created, known = map(int, counts.groups())
    assert created + known == ROWS
    assert some <= known < ROWS
    assert f"{ROWS} already there" in again
    assert max(grown.values()) < FLAT_MB, grown


def _footer(file: Path) -> dict[str, Any]:
    with file.open("rb") as lines:
        lines.seek(-1000, os.SEEK_END)
        last = parse_line(lines.read().splitlines()[-1])
    assert isinstance(last, Footer)
    return last.model_dump(exclude={"kind", "digest"})
