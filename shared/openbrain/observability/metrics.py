"""Metrics and traces: all metrics are defined here, and spans are created here."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import product

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    format_span_id,
    format_trace_id,
)
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from openbrain.domain.version import __version__

REGISTRY = CollectorRegistry()
"""One per process: all services of `openbrain up` share it."""
PlatformCollector(registry=REGISTRY)
ProcessCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)
_counter, _gauge = partial(Counter, registry=REGISTRY), partial(Gauge, registry=REGISTRY)
_histogram = partial(Histogram, registry=REGISTRY)


def begin_at_zero(counter: Counter, *labels: Iterable[str]) -> None:
    """Create a series for each combination of labels: Prometheus sees no increase in a series that begins at 1."""
    for values in product(*labels):
        counter.labels(*values)


STREAM_ENTRIES = _counter(
    "openbrain_stream_entries",
    "Entries by outcome: handled, failed (an attempt), parked, dead, abandoned, taken (again), "
    "released, lost (their lease).",
    ("stream", "group", "outcome"),
)
SIGNALS_RAISED = _counter(
    "openbrain_signals_raised",
    "Raises by severity and outcome: created, merged, grouped, duplicate, expired, refused.",
    ("severity", "status"),
)
SIGNALS_MOVED = _counter(
    "openbrain_signals_moved",
    "Signals and halts changed by time: escalated, lowered, resolved, expired, tombstoned, halts_expired.",
    ("step",),
)
WEBHOOK_POSTS = _counter(
    "openbrain_webhook_posts",
    "Posts to webhooks by outcome: delivered, failed (an attempt), dead.",
    ("outcome",),
)
begin_at_zero(WEBHOOK_POSTS, ("delivered", "failed", "dead"))
STANDING_MATCHES = _counter(
    "openbrain_standing_matches",
    "Matches of standing queries by outcome: delivered, withdrawn.",
    ("outcome",),
)
STANDING_SECONDS = _histogram(
    "openbrain_standing_seconds",
    "Seconds from a memory's last change to the delivery of its matches.",
    buckets=(0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300),
)
TICKS = _counter(
    "openbrain_ticks",
    "Ticks of vaults by outcome: completed, dry_run, failed, put_off (to be retried).",
    ("outcome",),
)
TICK_SECONDS = _histogram(
    "openbrain_tick_seconds",
    "Duration of a tick, including its model.",
    buckets=(0.1, 0.5, 1, 5, 15, 30, 60, 120, 300),
)
STREAM_HANDLER_SECONDS = _histogram(
    "openbrain_stream_handler_seconds",
    "Duration of the handler for a batch.",
    ("stream", "group"),
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300),
)
STREAM_BATCH_ENTRIES = _histogram(
    "openbrain_stream_batch_entries", "Entries in a batch.", ("stream", "group"), buckets=(1, 4, 16, 64, 256, 1000)
)
STREAM_BREAKER_OPEN = _gauge(
    "openbrain_stream_breaker_open", "1 while a dependency of the service is down.", ("group",)
)
STREAM_STOPPED = _gauge(
    "openbrain_stream_stopped", "1 while the reader is stopped because most entries fail.", ("stream", "group")
)
STREAM_LAG = _gauge("openbrain_stream_lag", "Entries not yet delivered to the group.", ("stream", "group"))
STREAM_PENDING = _gauge("openbrain_stream_pending", "Entries being processed or parked.", ("stream", "group"))
STREAM_PARKED = _gauge("openbrain_stream_parked", "Entries that wait for another attempt.", ("stream", "group"))
STREAM_CONSUMERS = _gauge("openbrain_stream_consumers", "Consumers of the group.", ("stream", "group"))
STREAM_OLDEST_SECONDS = _gauge(
    "openbrain_stream_oldest_pending_seconds", "Age of the oldest entry that is not acknowledged.", ("stream", "group")
)
STREAM_UNDELIVERED_SECONDS = _gauge(
    "openbrain_stream_oldest_undelivered_seconds",
    "Age of the oldest entry not yet delivered to the group.",
    ("stream", "group"),
)
STREAM_DEAD_LETTERS = _gauge("openbrain_stream_dead_letters", "Entries in the dead-letter stream.", ("stream", "group"))
STREAM_DEAD_LETTERS_FILLED = _gauge(
    "openbrain_stream_dead_letters_filled",
    "Used share of the time or space for dead letters: an alarm at 0.8, the oldest are removed at 1.",
    ("stream", "group"),
)
STREAM_LENGTH = _gauge("openbrain_stream_length", "Entries in the stream.", ("stream",))
STREAM_MEMORY_SHARE = _gauge("openbrain_stream_memory_share", "Used share of the stream server's memory limit.")
OUTBOX_WAITING = _gauge("openbrain_outbox_waiting", "Events waiting to be published; an upper bound if they are few.")
OUTBOX_OLDEST_SECONDS = _gauge("openbrain_outbox_oldest_seconds", "Age of the oldest event that waits to be published.")
INDEXED_SECONDS = _histogram(
    "openbrain_indexed_seconds",
    "Time from the commit of a change (index vector: of its vectors) until an index shows it.",
    ("index",),
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800),
)
EMBEDDER_INPUTS = _counter(
    "openbrain_embedder_inputs",
    "Model inputs by where their vectors came from: known (embedded before), model, refused (by the model).",
    ("source",),
)
EMBEDDER_CHARACTERS = _counter("openbrain_embedder_characters", "Characters sent to the model.")
RECALL_SECONDS = _histogram(
    "openbrain_recall_phase_seconds",
    "Duration of a part of a recall, for all questions of a request: search (both indexes, the question embedded), "
    "compare (token states, neighbours), verify (against the database).",
    ("phase",),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3),
)
RECALL_DEGRADED = _counter("openbrain_recall_degraded", "Recalls answered without an index: text, vectors.", ("index",))
begin_at_zero(RECALL_DEGRADED, ("text", "vectors"))
SIGNALS_UNACKNOWLEDGED = _gauge(
    "openbrain_signals_unacknowledged",
    "Critical and nuclear signals that nobody acknowledged, by workspace that has any.",
    ("workspace",),
)
TICK_COMPLETED = _gauge(
    "openbrain_tick_completed_timestamp_seconds",
    "When a tick last completed, by the workspace of a vault, in seconds since 1970; 0 if none is known.",
    ("workspace",),
)
BACKLOG_FULL = _gauge("openbrain_backlog_full", "1 while writes are refused because too much waits behind them.")
RECALLS_UNRECORDED = _counter("openbrain_recalls_unrecorded", "Answered recalls that were not recorded.")
API_REQUESTS = _counter("openbrain_api_requests", "Requests by route and status.", ("method", "route", "status"))
API_SECONDS = _histogram(
    "openbrain_api_request_seconds",
    "Duration of a request.",
    ("method", "route"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30),
)
HTTP_REFUSED = _counter(
    "openbrain_http_refused",
    "Connections closed before a complete request, by status: 400 no HTTP, 408 too slow, 431 too large a head, "
    "503 too many.",
    ("status",),
)
API_RATES_SHARED = _gauge(
    "openbrain_api_rate_limits_shared",
    "1 while rate limits count for all replicas together, 0 while each counts by itself.",
)

RECONCILE_DIFFERENCES = _counter(
    "openbrain_reconcile_differences",
    "Memories whose index entries differ from the database, by kind of difference.",
    ("index", "fault"),
)
RECONCILE_COMPLETED = _gauge(
    "openbrain_reconcile_completed_timestamp_seconds",
    "When this process last compared every index with the database, in seconds since 1970; 0 if it never did.",
)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each, which nobody asks for
_MOST_LINKS = 128


def export_spans(endpoint: str, service: str) -> None:
    """Send this process's spans to an OTLP collector over HTTP. Without an endpoint, spans cost nothing.

    OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence. The exporter reads endpoint, headers, certificates
    and timeouts from the environment itself, and the sampler reads its settings.
    """
    if not endpoint:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {"service.name": service, "service.namespace": "openbrain", "service.version": __version__}
    given = dict(OTELResourceDetector().detect().attributes)
    provider = TracerProvider(resource=Resource.create({**named, **given}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


@cache
def tracer() -> trace.Tracer:
    return trace.get_tracer("openbrain")


def tracing() -> bool:
    """True if spans are collected; otherwise they cost nothing."""
    return isinstance(trace.get_tracer_provider(), TracerProvider)


@contextmanager
def batch_span(name: str, traceparents: Iterable[str | None]) -> Iterator[Span | None]:
    """A span for a batch, linked to the trace of each event; for a single event, a child of its span."""
    if not tracing():
        yield None
        return
    texts = list(traceparents)
    origins = [context for text in texts[:_MOST_LINKS] if text and (context := _origin(text))]
    parent = trace.set_span_in_context(trace.NonRecordingSpan(origins[0])) if len(texts) == 1 and origins else None
    links = () if parent else tuple(Link(origin) for origin in origins)
    with tracer().start_as_current_span(
        name,
        context=parent,
        kind=SpanKind.CONSUMER,
        links=links,
        attributes={"messaging.system": "redis", "messaging.batch.message_count": len(texts)},
        # An exception's message may contain content.
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except Exception as error:
            span.set_status(StatusCode.ERROR, type(error).__name__)
            raise


@contextmanager
def request_span(name: str, parent: str | None) -> Iterator[Span | None]:
    """A span for a request; a child of the caller's span."""
    if not tracing():
        yield None
        return
    origin = _origin(parent) if parent else None
    context = trace.set_span_in_context(trace.NonRecordingSpan(origin)) if origin else None
    with tracer().start_as_current_span(
        name, context=context, kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
    ) as span:
        yield span


def traceparent() -> str | None:
    """The current span as a W3C traceparent for a new event; None without a trace."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-{context.trace_flags:02x}"


def _origin(text: str) -> SpanContext | None:
    parts = text.split("-")
    try:
        trace_id, span_id, flags = int(parts[1], 16), int(parts[2], 16), int(parts[3], 16)
    except (IndexError, ValueError):
        return None
    context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return context if context.is_valid else None
