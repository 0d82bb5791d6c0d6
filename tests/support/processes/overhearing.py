"""Everything that a process outputs (logs, metrics, spans, titles), searched for marks that callers put into
requests."""

import io
import logging
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import generate_latest
from prometheus_client.metrics import MetricWrapperBase

from openbrain.observability import logs, metrics
from openbrain.settings import Logs

MARK = re.compile(r"qxv[0-9a-f]{12}7", re.IGNORECASE)
"""A word that no stemmer, tokenizer or URL changes."""
_EXPORTER, _PROVIDER = InMemorySpanExporter(), TracerProvider()
# One for the run: libraries keep the first tracer that they were given.
_PROVIDER.add_span_processor(SimpleSpanProcessor(_EXPORTER))


@dataclass
class Marks:
    """Unique words, each with the place where it was put."""

    places: dict[str, str] = field(default_factory=dict)

    def __call__(self, place: str) -> str:
        """Return a new mark for this place."""
        word = f"qxv{uuid.uuid4().hex[:12]}7"
        self.places[word] = place
        return word

    def found(self, told: Mapping[str, str]) -> list[str]:
        """Return each mark found: where it was put, where it appeared, and the text around it."""
        return [
            f"{self.places.get(match[0].lower(), 'unknown')} in {source}: "
            f"{text[max(0, match.start() - 200) : match.end() + 100]!r}"
            for source, text in told.items()
            for match in MARK.finditer(text)
        ]


@dataclass
class Ear:
    """Records the output of this process."""

    lines: io.StringIO
    printed: Callable[[], str]
    marks: Marks = field(default_factory=Marks)
    secret: str = ""
    """A key that must not appear in any output either."""

    def told(self) -> dict[str, str]:
        """Return all output, by source."""
        return {
            "logs": self.lines.getvalue(),
            "metrics": generate_latest(metrics.REGISTRY).decode(),
            "spans": "\n".join(_text(span) for span in _EXPORTER.get_finished_spans()),
            "output": self.printed(),
            **{f"process {name}": text for name, text in titles().items()},
        }

    def events(self) -> set[str]:
        """Return the names of log events so far."""
        return set(re.findall(r'"event": "([\w.]+)"', self.lines.getvalue()))

    def spans(self) -> set[str]:
        """Return the names of spans so far."""
        return {span.name for span in _EXPORTER.get_finished_spans()}


def _text(span: ReadableSpan) -> str:
    """Return all parts of a span that callers may influence; encoding it as JSON would take most of a test's time."""
    events = [(event.name, dict(event.attributes or {})) for event in span.events]
    links = [dict(link.attributes or {}) for link in span.links]
    return f"{span.name} {dict(span.attributes or {})} {events} {links} {span.status.description}"


def titles() -> dict[str, str]:
    """Return what `ps` shows of this process and its children."""
    found = {}
    for folder in [Path("/proc/self"), *(Path("/proc") / pid for pid in _children())]:
        for name in ("cmdline", "comm"):
            try:
                found[f"{folder.name} {name}"] = (folder / name).read_bytes().decode(errors="replace")
            except OSError:
                continue  # the process ended meanwhile
    return found


def _children() -> list[str]:
    return [pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]


@contextmanager
def _own_metrics() -> Iterator[None]:
    """Leave out the labelled metrics of earlier tests, which every scrape would repeat. Afterwards they are back: the
    API's routes keep their counters, which would otherwise count unseen from then on."""
    labelled = [each for each in vars(metrics).values() if isinstance(each, MetricWrapperBase) and each._labelnames]
    earlier = [dict(each._metrics) for each in labelled]
    for each in labelled:
        each.clear()
    try:
        yield
    finally:
        for each, children in zip(labelled, earlier, strict=True):
            each._metrics.update(children)


@contextmanager
def listening(printed: Callable[[], str]) -> Iterator[Ear]:
    """Record logs of every level, spans and metrics while the block runs. `printed`: returns the terminal's output."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    provider = trace._TRACER_PROVIDER
    lines = io.StringIO()
    logs.configure(Logs(level="DEBUG", json_lines=True), lines)
    trace._TRACER_PROVIDER = _PROVIDER
    metrics.tracer.cache_clear()
    _EXPORTER.clear()
    try:
        with _own_metrics():
            yield Ear(lines, printed)
    finally:
        trace._TRACER_PROVIDER = provider
        metrics.tracer.cache_clear()
        logging.captureWarnings(capture=False)
        root.handlers[:], root.level = before
        structlog.reset_defaults()
