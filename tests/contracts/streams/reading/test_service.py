"""A service as an operator sees it: its command, routes, metrics, document and traces."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from openbrain.domain.errors import TryLater
from openbrain.domain.events.streams import REINDEX, STORED, SUBMITTED
from openbrain.observability import metrics as telemetry
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.monitoring import endpoints
from openbrain.streams.monitoring.gauges import Gauges
from openbrain.streams.reading.service import Service
from openbrain.streams.redis.connection import connect_as
from tests.servers.places import free_port
from tests.support.streams.consumers import (
    Seen,
    environment,
    eventually,
    looking,
    publish,
    scaled,
    service,
    started,
    stored,
)
from tests.support.waiting import PATIENCE_S


def served_by(port: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, verify=False)


async def test_a_service_without_work_counts_as_running(url: str) -> None:
    """Redis 7.0 neither creates nor notices a consumer whose reads find nothing: operators would see no replica."""
    settings = scaled(url, lease_s=0.6)
    async with looking(settings) as looks:

        async def consumers() -> list[Any]:
            return list(await looks.client.xinfo_consumers(looks.stream, looks.group))

        async with started(service(settings, Seen())):
            await eventually(consumers)
            (consumer,) = await consumers()
            await looks.client.xgroup_delconsumer(looks.stream, looks.group, consumer["name"])
            await eventually(consumers)
        assert await consumers() == []


async def test_faststream_runs_a_room_and_ends_it_cleanly(url: str, tmp_path: Path) -> None:
    settings, port = scaled(url, lease_s=60), free_port()
    command = [str(Path(sys.executable).parent / "faststream"), "run", "tests.support.streams.service:app"]
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)], env=environment(settings), stderr=log, stdout=log
    )
    try:
        async with looking(settings) as looks, served_by(port) as http:

            async def is_ready() -> bool:
                try:
                    return (await http.get("/ready")).status_code == 200
                except httpx.TransportError:
                    return False

            await publish(settings, stored(1))
            await eventually(is_ready)
            await eventually(looks.idle)
            assert (await http.get("/live")).json() == {"live": True, "stuck": {}}
            metrics = (await http.get("/metrics")).text
            assert f'openbrain_stream_lag{{group="embedder",stream="{looks.stream}"}} 0.0' in metrics
            assert f'group="embedder",outcome="handled",stream="{looks.stream}"}} 1.0' in metrics
            assert "faststream_received_messages_total" in metrics
            assert "asyncapi" in (await http.get("/docs.json")).json()
            assert (await http.post("/live")).status_code == 405
            process.send_signal(signal.SIGTERM)
            await eventually(lambda: process.poll() is not None)
            assert await looks.client.xinfo_consumers(looks.stream, looks.group) == []
    finally:
        process.kill()
        process.wait()
        log.close()
    assert process.returncode in {0, -signal.SIGTERM}
    lines = (tmp_path / "log").read_text().splitlines()
    ours = [json.loads(line) for line in lines if not line.startswith("INFO: ")]  # uvicorn's first two
    assert len(lines) - len(ours) <= 2
    assert all({"event", "level", "timestamp"} <= set(line) for line in ours)
    assert [line["level"] for line in ours if line["level"] != "info"] == []


async def test_routes_of_many_rooms_share_one_port(url: str) -> None:
    settings = scaled(url)
    one, two = service(settings, Seen(), "one"), service(settings, Seen(), "two")
    routes = [Route(path, endpoint) for path, endpoint in endpoints.routes([one, two])]
    app = Starlette(routes=[Mount("/", routes=routes)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as http:
        assert (await http.get("/ready")).status_code == 503
        async with started(one, two):
            assert (await http.get("/ready")).json() == {"ready": True, "failing": {}, "paused": []}
            metrics = (await http.get("/metrics")).text
            stream = f"{settings.prefix}memory.stored"
            for group in ("one", "two"):
                assert f'openbrain_stream_pending{{group="{group}",stream="{stream}"}} 0.0' in metrics


async def test_ready_names_the_dependency_that_is_down(url: str) -> None:
    async def down() -> None:
        raise TryLater("start the database")

    async def hangs() -> None:
        await asyncio.sleep(60)

    checked = service(scaled(url), Seen(), checks={"truth": down, "ollama": hangs})
    async with started(checked):
        assert await checked.unready() == {"truth": "TryLater: start the database", "ollama": "no answer in 3 s"}


async def test_a_handler_that_never_ends_is_seen_and_a_busy_one_is_not(url: str) -> None:
    forever = asyncio.Event()

    async def hang(batch: Sequence[Delivery[Any]]) -> None:
        await forever.wait()

    settings = scaled(url)
    patient, strict = (
        service(settings, Seen(hang), "patient"),
        service(settings, Seen(hang), "strict", handler_limit_s=0.2),
    )
    await publish(settings, stored(1))
    async with started(patient, strict):
        await eventually(strict.stuck)
        assert strict.stuck() == [f"read {settings.prefix}memory.stored"]
        assert patient.stuck() == []
        forever.set()
        await eventually(lambda: not strict.stuck())


async def test_a_reading_task_that_ended_is_seen(url: str) -> None:
    broken = service(scaled(url), Seen())
    async with started(broken):
        (subscriber,) = broken.broker.subscribers
        await asyncio.sleep(0.1)
        subscriber.tasks[0].cancel()  # type: ignore[attr-defined]
        await eventually(broken.stuck)
        assert broken.stuck() == ["faststream reading embedder"]


async def test_metrics_tell_what_became_of_entries(url: str) -> None:
    async def fail_on_2(batch: Sequence[Delivery[Any]]) -> None:
        if any(delivery.event.id == "2" for delivery in batch):
            raise LookupError

    settings = scaled(url, backoff_s=(60,))
    failing = service(settings, Seen(fail_on_2))
    await publish(settings, stored(1), stored(2), b"{}")
    async with looking(settings) as looks, started(failing):
        await eventually(looks.parked)
        await eventually(looks.dead)
        await failing.measure()

        def value(name: str, **labels: str) -> float | None:
            return telemetry.REGISTRY.get_sample_value(name, {"stream": looks.stream, "group": "embedder", **labels})

        outcomes = {
            outcome: value("openbrain_stream_entries_total", outcome=outcome)
            for outcome in ("handled", "failed", "parked", "dead", "abandoned", "lost")
        }
        assert outcomes == {"handled": 1, "failed": 1, "parked": 1, "dead": 1, "abandoned": 0, "lost": 0}
        assert value("openbrain_stream_pending") == value("openbrain_stream_parked") == 1
        assert value("openbrain_stream_dead_letters") == 1
        assert value("openbrain_stream_lag") == 0
        assert 0 < (value("openbrain_stream_oldest_pending_seconds") or 0) < 30
        assert value("openbrain_stream_handler_seconds_count") == 3, "the batch, then each of its two entries"


async def test_lag_is_counted_where_redis_cannot_tell(url: str) -> None:
    settings = scaled(url)
    async with looking(settings) as looks:
        ids = [await looks.client.xadd(looks.stream, {"a": "b"}) for _ in range(5)]
        await looks.client.xgroup_create(looks.stream, "embedder", id="0")
        await looks.client.xreadgroup("embedder", "c", {looks.stream: ">"}, count=1)
        await looks.client.xdel(looks.stream, ids[2])
        assert (await looks.client.xinfo_groups(looks.stream))[0]["lag"] is None
        await Gauges("embedder", [looks.stream]).refresh(looks.client)
        labels = {"stream": looks.stream, "group": "embedder"}
        assert telemetry.REGISTRY.get_sample_value("openbrain_stream_lag", labels) == 3


async def test_a_scrape_waits_once_for_a_redis_that_does_not_answer() -> None:
    """Not once for each stream: Prometheus would give up, and show the service as down."""
    asked = []

    class Counting(Redis):
        async def execute_command(self, *command: Any, **options: Any) -> Any:
            asked.append(command)
            return await super().execute_command(*command, **options)  # type: ignore[no-untyped-call]

    client = connect_as(Counting, scaled(f"redis://127.0.0.1:{free_port()}"))
    await Gauges("embedder", ["memory.stored", "memory.superseded", "memory.reindex"]).refresh(client)
    assert len(asked) == 1


async def test_a_key_of_another_type_hides_no_other_stream(url: str) -> None:
    settings = scaled(url)
    async with looking(settings) as looks:
        await looks.client.set(f"{looks.stream}.wrong", "not a stream")
        await looks.client.xadd(looks.stream, {"a": "b"})
        await Gauges("embedder", [f"{looks.stream}.wrong", looks.stream]).refresh(looks.client)
    assert telemetry.REGISTRY.get_sample_value("openbrain_stream_length", {"stream": looks.stream}) == 1


def test_the_asyncapi_document_shows_the_real_payloads() -> None:
    reads = [Subscription(spec=spec, handler=Seen()) for spec in (STORED, REINDEX, SUBMITTED)]
    declared = Service("embedder", reads, scaled("redis://u:secret@h", prefix="p.")).app()
    document: dict[str, Any] = declared.schema.to_specification().to_jsonable()

    assert document["asyncapi"] == "3.0.0"
    assert set(document["channels"]) == {"p.memory.stored", "p.memory.reindex", "p.memory.submitted"}
    assert document["channels"]["p.memory.stored"]["bindings"]["redis"]["groupName"] == "embedder"
    assert set(document["components"]["schemas"]) >= {"MemoryStored", "MemoryReindex", "MemorySubmitted"}
    message = document["components"]["messages"]["p.memory.stored:SubscribeMessage"]
    assert "CloudEvent" in message["payload"]["$ref"]
    assert "secret" not in json.dumps(document)


async def test_resources_open_before_the_first_entry_and_close_after_the_last(url: str) -> None:
    said: list[str] = []

    @asynccontextmanager
    async def resources() -> AsyncIterator[None]:
        said.append("open")
        yield
        said.append("close")

    async def handle(_: Sequence[Delivery[Any]]) -> None:
        said.append("handle")
        await asyncio.sleep(0.1)
        said.append("done")

    settings = scaled(url)
    await publish(settings, stored(1))
    async with started(service(settings, handle, resources=resources)):
        await eventually(lambda: "handle" in said)

    assert said == ["open", "handle", "done", "close"]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """An exporter that keeps finished spans."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    telemetry.tracer.cache_clear()
    return exporter


async def test_a_batch_is_a_span_linked_to_the_trace_of_each_event(url: str, spans: InMemorySpanExporter) -> None:
    parents = [f"00-{number:032x}-{number:016x}-01" for number in (1, 2)]
    passed_on: list[str | None] = []

    async def handle(_: Sequence[Delivery[Any]]) -> None:
        passed_on.append(telemetry.traceparent())

    settings = scaled(url)
    events = [stored(number, traceparent=parent) for number, parent in enumerate(parents)]
    await publish(settings, *events, stored(3), stored(4, traceparent="rubbish"))
    async with started(service(settings, handle)):
        await eventually(lambda: passed_on)
        await eventually(spans.get_finished_spans)
    (span,) = spans.get_finished_spans()

    assert [(link.context.trace_id, link.context.span_id) for link in span.links] == [(1, 1), (2, 2)]
    assert span.context is not None
    assert (passed_on[0] or "").startswith(f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-0")
