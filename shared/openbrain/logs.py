"""Logs: an event name and keys, one JSON object a line (or colours for people). Never content, never a secret."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from opentelemetry import trace

from openbrain.settings import Logs

_QUIET = ("httpx", "httpcore", "elastic_transport", "alembic", "faststream")
"""They tell every request; what goes wrong with one is told by who made it."""
_ADOPTED = ("uvicorn", "uvicorn.error", "uvicorn.access", "faststream")


def configure(settings: Logs, stream: TextIO | None = None) -> None:
    """Set up structlog and the standard library's logging alike, for the whole process. May be called again."""
    out = stream or sys.stderr
    level = logging.getLevelNamesMapping().get(settings.level.upper(), logging.INFO)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _trace_ids,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if settings.json_lines
        else structlog.dev.ConsoleRenderer(colors=out.isatty())
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for name in _ADOPTED:
        # Servers bring handlers of their own; their lines belong among ours.
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True


def _trace_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
        event["span_id"] = trace.format_span_id(context.span_id)
    return event
