"""Logs: an event name and keys, as text lines in a terminal and as JSON lines elsewhere. Never content or secrets:
library messages are passed on only as far as they can't contain either."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from opentelemetry import trace

from openbrain.domain.errors import error_places
from openbrain.settings import Logs

LIBRARY = "library.message"
"""The event name of lines from libraries."""
CLIENT_KEYS = "openbrain_event"
"""The record attribute in which the client, which has no structlog, passes the name and keys of its events."""
_TRUSTED = ("uvicorn", "uvicorn.error")
"""Loggers that report where a server listens and why it can't."""
_ADOPTED = (*_TRUSTED, "uvicorn.access", "faststream", "mcp")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n((?:[ \t].*\n)+)([\w.]+)")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')

Event = MutableMapping[str, Any]


def configure(settings: Logs, stream: TextIO | None = None) -> None:
    """Configure structlog and the standard library's logging alike, for the whole process. May be called again."""
    out = stream or sys.stderr
    terminal = out.isatty()
    json_lines = not terminal if settings.json_lines is None else settings.json_lines
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _trace_ids,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer() if json_lines else structlog.dev.ConsoleRenderer(colors=terminal)
    )
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.addFilter(_is_logged)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[_of_a_library, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            use_get_message=False,
            pass_foreign_args=True,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level)
    for name in _ADOPTED:
        # Servers install their own handlers; their lines should be formatted like ours.
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.captureWarnings(capture=True)


def _is_logged(record: logging.LogRecord) -> bool:
    """Our lines according to the level. Libraries' debug and info lines quote their input, so they are dropped."""
    if hasattr(record, "_logger") or hasattr(record, CLIENT_KEYS):  # set by structlog, and by our client
        return True
    return record.levelno >= (logging.INFO if record.name in _TRUSTED else logging.WARNING)


def _of_a_library(_logger: Any, _method: str, event: Event) -> Event:
    """Return a library's record with its location and template. Values formatted into it and texts of exceptions may
    contain content, so they are dropped."""
    record: logging.LogRecord = event["_record"]
    template, values = str(event["event"]), event.pop("positional_args", ())
    if keys := getattr(record, CLIENT_KEYS, None):
        return {**event, **keys}
    error = (event.pop("exc_info", None) or (None, None))[1]
    event.pop("stack_info", None)
    event["event"] = LIBRARY
    event["at"] = f"{record.filename}:{record.lineno}"
    if "Traceback (most recent call last)" in template:
        if match := _TRACEBACK.search(template):
            event.update(error=match[2], where=[":".join(text) for text in _FRAME.findall(match[1])])
    elif record.name in _TRUSTED:
        event["message"] = template % values if values else template
    elif values:
        event["message"] = template
    if isinstance(error, BaseException):
        event.update(error=type(error).__name__, where=error_places(error))
    return event


def _trace_ids(_logger: Any, _method: str, event: Event) -> Event:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
        event["span_id"] = trace.format_span_id(context.span_id)
    return event
