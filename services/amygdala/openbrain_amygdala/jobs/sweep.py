"""One round of time-driven changes of signals and of purging, with its counts."""

from dataclasses import asdict, dataclass

from openbrain.observability import metrics
from openbrain.ports.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long each kind of row is kept, in microseconds."""

    broadcasts: int
    signals: int
    """Since they ended."""
    subscribers: int
    """Since they were last seen."""
    dead_letters: int


async def sweep(store: Store, limit: int) -> int:
    """Make the changes that are due, by the database's clock; their number."""
    swept = await store.signals.sweep_due(limit, await store.time())
    for step, number in asdict(swept).items():
        metrics.SIGNALS_MOVED.labels(step).inc(number)
    return swept.total


async def purge(store: Store, limit: int, kept: Retention) -> int:
    """Delete rows past their retention; the largest number of any kind."""
    now = await store.time()
    rows = await store.signals.purge_signals(
        limit, broadcasts_before=now - kept.broadcasts, ended_before=now - kept.signals, now=now
    )
    subscribers = await store.broadcasts.forget_subscribers(now - kept.subscribers, limit)
    letters = await store.webhook_letters.purge_webhook_dead_letters(now - kept.dead_letters, limit)
    return max(rows, subscribers, letters)
