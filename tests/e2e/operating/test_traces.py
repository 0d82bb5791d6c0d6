"""The trace of one memory as a collector receives it: from the producer's event through both indexes."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.cli.terminal import Terminal, up, wait_until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PRODUCER = "00f067aa0ba902b7"
STEPS = sorted(["memory.submitted process", *["memory.stored process"] * 2, *["memory.embedded process"] * 2])
"""The spans of ingest; of embedder and full-text indexer; of vector indexer and matcher."""


class Collector:
    """Accepts spans as an OTLP collector does, over HTTP."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []

    def names(self, trace: str) -> list[str]:
        """Names of the spans that are in a trace or linked to it."""
        wanted = bytes.fromhex(trace)
        return [
            span.name
            for request in list(self.requests)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
            if wanted in {span.trace_id, *(link.trace_id for link in span.links)}
        ]

    def services(self) -> set[str]:
        return {
            attribute.value.string_value
            for request in self.requests
            for resource in request.resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == "service.name"
        }


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Do not log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.slow("the whole pipeline is started for it")
def test_a_memory_is_followed_through_both_indexes(tmp_path: Path) -> None:
    data = {"content": "The ferry leaves at nine.", "type": "fact", "workspace_id": "default"}
    event = {
        "specversion": "1.0",
        "id": "ferry-1",
        "source": "/test",
        "type": "openbrain.memory.submitted.v1",
        "data": data,
        "traceparent": f"00-{TRACE}-{PRODUCER}-01",
    }
    with collecting() as (collector, address):
        spans = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_SERVICE_NAME": "brain"}
        with up(Terminal(tmp_path, tmp_path / "data", spans)) as terminal:
            assert terminal.run("publish", "memory.submitted", stdin=json.dumps(event)).code == 0
            wait_until(lambda: len(collector.names(TRACE)) >= len(STEPS))
    assert sorted(collector.names(TRACE)) == STEPS
    assert collector.services() == {"brain"}
    assert not any("ferry" in str(request) for request in collector.requests)
