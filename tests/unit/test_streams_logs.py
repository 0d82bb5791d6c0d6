"""Logs: one JSON object a line, ours and others' alike, with the trace, without content."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider

from openbrain import logs
from openbrain.settings import Logs


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def test_our_lines_and_others_are_alike() -> None:
    out = io.StringIO()
    logging.getLogger("uvicorn").addHandler(logging.StreamHandler(out))
    logs.configure(Logs(), out)
    logs.configure(Logs(), out)
    structlog.get_logger("openbrain.streams").warning("streams.entry_parked", entry="1-0")
    logging.getLogger("uvicorn").info("started %s", 1)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]

    assert [(line["event"], line["level"], line["logger"]) for line in lines] == [
        ("streams.entry_parked", "warning", "openbrain.streams"),
        ("started 1", "info", "uvicorn"),
    ]
    assert lines[0]["entry"] == "1-0"
    assert all(line["timestamp"].endswith("Z") for line in lines)


def test_the_level_counts_and_people_get_no_json() -> None:
    out = io.StringIO()
    logs.configure(Logs(level="warning", json_lines=False), out)
    structlog.get_logger("x").info("unheard")
    structlog.get_logger("x").error("heard", why="because")
    assert "unheard" not in out.getvalue()
    assert "because" in out.getvalue()
    assert not out.getvalue().startswith("{")


def test_a_line_within_a_span_carries_its_ids() -> None:
    out = io.StringIO()
    logs.configure(Logs(), out)
    with TracerProvider().get_tracer("t").start_as_current_span("s") as span:
        structlog.get_logger("x").info("said")
    line = json.loads(out.getvalue())
    assert int(line["trace_id"], 16) == span.get_span_context().trace_id
    assert int(line["span_id"], 16) == span.get_span_context().span_id
