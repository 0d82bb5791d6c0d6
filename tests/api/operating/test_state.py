"""How the process reports its state and its failures."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.sql.memories.reading import SqlMemories
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import SetupError, TryLater
from openbrain.ports.store.writes import Outcome, Write
from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.streams.monitoring import endpoints
from openbrain_api import app as process
from openbrain_api.handlers import ROUTES
from tests.support.api.brain import Brain, http, offer, refused, remembered, unknown_id
from tests.support.api.inputs.bad_inputs import FULL
from tests.support.store.parts import with_parts
from tests.support.waiting import PATIENCE_S

SECRET = "correct-horse-battery"


class Neighbour:
    """Another service next to the API, with any failure that a test sets."""

    group = "indexer-text"

    paused = False

    def __init__(self) -> None:
        self.loops: list[str] = []
        self.missing: dict[str, str] = {}
        self.measured = 0
        self.asked = 0

    def stuck(self) -> list[str]:
        return self.loops

    async def unready(self) -> dict[str, str]:
        self.asked += 1
        return self.missing

    async def measure(self) -> None:
        self.measured += 1


async def test_the_rooms_beside_it_are_part_of_its_state(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_CHECK_S", PATIENCE_S)  # a busy machine is not a failing one
    service = Neighbour()
    operator = await brain.key("system", permissions=frozenset({Permission.ADMIN}))
    begun = time.perf_counter()
    async with http(brain.app(services=(service,)), operator) as client:
        well = [(await client.get(path)).json() for path in ("/live", "/ready", "/v1/health")]
        service.loops, service.missing = ["memory.stored"], {"redis": "TryLater: down"}
        brain.clock.advance(1_000_000)
        ill = [await client.get(path) for path in ("/live", "/ready", "/v1/health")]
        await client.get("/metrics")
        service.missing, service.paused = {}, True
        brain.clock.advance(1_000_000)
        resting = await client.get("/ready")

    assert (resting.status_code, resting.json()["paused"]) == (200, [service.group])
    assert well[0] == {"live": True, "stuck": {}}
    assert (well[1]["ready"], well[1]["failing"], well[1]["paused"]) == (True, {}, [])
    assert sorted(well[1]["dependencies"]) == ["embedder", "text", "truth", "vectors"]
    assert well[1]["dependencies"]["embedder"]["product"] == "MiniLM int8"
    elapsed_ms = (time.perf_counter() - begun) * 1000
    assert all(0 <= part["ms"] <= elapsed_ms for part in well[1]["dependencies"].values())
    assert well[2]["status"] == "ok"
    assert well[2]["parts"] == dict.fromkeys(("truth", "text", "vectors", "embedder", "indexer-text"), "ok")
    assert [response.status_code for response in ill] == [503, 503, 200]
    assert ill[0].json()["stuck"] == {"indexer-text": ["memory.stored"]}
    assert ill[1].json()["failing"] == {"indexer-text": {"redis": "TryLater: down"}}
    assert (ill[2].json()["status"], ill[2].json()["parts"]["indexer-text"]) == ("degraded", "down")
    assert service.measured == 1


async def test_nobody_can_make_it_ask_more_than_once_a_second(brain: Brain) -> None:
    service = Neighbour()
    async with http(brain.app(services=(service,))) as client:
        for _ in range(20):
            await client.get("/v1/health")
        assert service.asked == 1


async def test_requests_are_counted_by_route_and_not_by_id(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (memory_id,) = await remembered(client, "counted")
        read = await client.get(f"/v1/brain/memories/{memory_id}")
        assert read.status_code == 200, read.text
        operator = await brain.key("system", permissions=frozenset({Permission.ADMIN}))
        response = await client.get("/metrics", headers={"authorization": f"Bearer {operator}"})
        assert response.status_code == 200, response.text
        metrics = response.text

    assert 'openbrain_api_requests_total{method="GET",route="/v1/brain/memories/{id}",status="200"}' in metrics
    assert 'openbrain_api_request_seconds_bucket{le="0.001",method="POST",route="/v1/brain/remember"}' in metrics
    assert memory_id not in metrics


@pytest.mark.parametrize(("error", "status"), [(RuntimeError(SECRET), 500), (TryLater("the database is down"), 503)])
async def test_what_breaks_inside_is_told_without_what_it_held(
    brain: Brain, capsys: pytest.CaptureFixture[str], error: Exception, status: int
) -> None:
    class Broken(SqlMemoryWrites):
        async def remember(self, writes: Sequence[Write], *, whole: bool = False) -> Sequence[Outcome]:
            raise error

    broken = with_parts(brain.store, writes=Broken(brain.store._database, brain.clock))
    async with http(brain.app(store=broken), await brain.key()) as client:
        for path, body in (("", offer(SECRET)), (":batch", {"memories": [offer(SECRET)]})):
            response = await client.post(f"/v1/brain/remember{path}", json=body)
            problem = refused(response, status)
            assert problem["error"] == "service_error"
            assert problem["stored"] == "unknown"
            assert "Idempotency-Key" in problem["message"]
            assert SECRET not in response.text
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    assert ("request_failed" in printed.out) == (status == 500)
    assert (Path(__file__).name in printed.out) == (status == 500)


async def test_a_write_that_stands_is_told_also_when_its_progress_is_not(brain: Brain) -> None:
    class Blind(SqlMemories):
        async def rows(self, ids: Sequence[str]) -> Any:
            raise TryLater("the database is down")

    blind = with_parts(brain.store, memories=Blind(brain.store._database))
    async with http(brain.app(store=blind), await brain.key()) as client:
        response = await client.post("/v1/brain/remember", json=offer(), headers={"prefer": "wait=20"})

    assert (response.status_code, response.json()["indexed"]) == (201, False)


async def test_alone_it_refuses_indexes_that_belong_to_one_process(brain: Brain) -> None:
    alone = Container(Settings(_env_file=None, data_dir=brain.settings.data_dir))
    with pytest.raises(SetupError, match="OPENBRAIN_TEXT__URL"):
        process.api(alone)


async def test_the_app_of_a_process_closes_its_parts(brain: Brain) -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    app = brain.app(close=close)
    async with app.router.lifespan_context(app):
        async with http(app, await brain.key("system", permissions=frozenset(Permission))) as client:
            await remembered(client, "until the end")
        assert not closed
    assert closed == [True]


class Away:
    """A store of which every call, except those in `spared`, fails like a lost connection."""

    def __init__(self, real: Any, spared: Sequence[str]) -> None:
        self._real, self._spared = real, spared

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if isinstance(self._real, SqlStore) and not callable(found):
            return Away(found, self._spared)
        if not callable(found) or name in self._spared:
            return found

        async def broken(*_: Any, **__: Any) -> Any:
            raise TryLater("the database can't be reached")

        return broken


@pytest.mark.parametrize("where", ["before", "within"])
async def test_a_write_that_failed_says_whether_it_may_have_been_stored(brain: Brain, where: str) -> None:
    """`before` anything was begun; `within`, when a commit may have succeeded although its answer was lost."""
    key = await brain.key("system", permissions=frozenset(Permission))
    spared = ("key_by_hash", "open_keys", "check") if where == "within" else ("check",)
    told = {}
    async with http(brain.app(store=Away(brain.store, spared)), key) as client:
        for route in ROUTES:
            path = route.path.replace("{id}", unknown_id()).replace("{index}", "text").replace("{name}", "x")
            body = FULL.get(route.path)
            response = await client.request(route.method, path, json=body)
            if response.status_code == 503 and route.needs_key:
                told[route.method, route.path] = response.json()
    changing = {(route.method, route.path): route for route in ROUTES if route.changes}
    assert told.keys() & changing.keys()
    for name, problem in told.items():
        assert problem["error"] == "service_error"
        changed = changing.get(name)
        expected = None if changed is None else "no" if where == "before" else "unknown"
        assert problem.get("stored") == expected, name
        keyed = changed is not None and changed.keyed and where == "within"
        assert ("Idempotency-Key" in problem["message"]) == keyed, name
    if where == "before":
        assert told.keys() == {(route.method, route.path) for route in ROUTES if route.needs_key}
