"""Logs: one JSON object per line for our loggers and others, with the trace and without content."""

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider

from openbrain.observability import logs
from openbrain.settings import Logs


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(capture=False)
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
        ("library.message", "info", "uvicorn"),
    ]
    assert lines[1]["message"] == "started 1"
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


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("json_lines", [None, True, False])
@pytest.mark.parametrize("out", [Terminal(), io.StringIO()], ids=["a terminal", "a file"])
def test_people_read_in_terminals_and_machines_elsewhere_unless_told(out: io.StringIO, json_lines: bool | None) -> None:
    out.truncate(0)
    logs.configure(Logs(json_lines=json_lines), out)
    structlog.get_logger("x").warning("said", why="because")

    wanted = not out.isatty() if json_lines is None else json_lines
    assert out.getvalue().replace("\0", "").startswith("{") is wanted
    assert ("\x1b[" in out.getvalue()) is (out.isatty() and not wanted)


SECRET = "correct-horse-battery"
TRACEBACK = (
    'Traceback (most recent call last):\n  File "a.py", line 7, in f\n    g()\n  File "b.py", line 9, in g\n    h()\n'
    f"ValueError: {SECRET}\n{SECRET}\n"
)
"""As a web server logs an error that prevents its start."""


def test_of_what_libraries_say_nothing_that_was_put_in_is_passed_on() -> None:
    """Message templates are the library's own; values, formatted sentences and exception texts may contain anything."""
    out = io.StringIO()
    logs.configure(Logs(level="DEBUG"), out)
    library = logging.getLogger("somebody.elses")
    library.debug("executing %s", SECRET)
    library.info("request %s", SECRET)
    library.warning("dropped %r: malformed", SECRET)
    library.warning(f"refused {SECRET}")
    try:
        raise ValueError(SECRET)  # noqa: TRY301 - one is wanted here
    except ValueError:
        library.exception("failed %s", SECRET, stack_info=True)
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    logging.getLogger("uvicorn.error").error(TRACEBACK)
    logging.getLogger("uvicorn.error").error(f"  + Exception Group Traceback (most recent call last):\n  | {SECRET}")  # noqa: G004
    logging.getLogger("uvicorn.access").info('%s - "%s"', "127.0.0.1", f"GET /v1/brain/search?q={SECRET}")
    warnings.showwarning(SECRET, UserWarning, __file__, 1)
    structlog.get_logger("openbrain.x").debug("ours.is_heard")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]

    assert SECRET not in out.getvalue()
    assert [line["event"] for line in lines] == ["library.message"] * 7 + ["ours.is_heard"]
    assert [line.get("message") for line in lines[:3]] == ["dropped %r: malformed", None, "failed %s"]
    assert [line["error"] for line in lines[2:5]] == ["ValueError"] * 3
    assert lines[4]["where"] == ["a.py:7", "b.py:9"]
    assert lines[2]["where"][-1].startswith(__file__)
    assert all(line["at"].count(":") == 1 for line in lines[:-1])


def test_a_line_within_a_span_carries_its_ids() -> None:
    out = io.StringIO()
    logs.configure(Logs(), out)
    with TracerProvider().get_tracer("t").start_as_current_span("s") as span:
        structlog.get_logger("x").info("said")
    line = json.loads(out.getvalue())
    assert int(line["trace_id"], 16) == span.get_span_context().trace_id
    assert int(line["span_id"], 16) == span.get_span_context().span_id
