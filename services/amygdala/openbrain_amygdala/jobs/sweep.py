"""A round of changes of signals by time, and its counts."""

from dataclasses import asdict, dataclass

from openbrain.observability import metrics
from openbrain.ports.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long each kind is kept, microseconds."""

    broadcasts: int
    signals: int
    """After their end."""
    subscribers: int
    """After they were seen."""
    dead_letters: int


async def sweep(store: Store, limit: int) -> int:
    """Move what is due, by the database's clock."""
    swept = await store.signals.sweep_due(limit, await store.time())
    for step, number in asdict(swept).items():
        metrics.SIGNALS_MOVED.labels(step).inc(number)
    return swept.total


async def purge(store: Store, limit: int, kept: Retention) -> int:
    """Forget what is past its time; the most of any kind."""
    now = await store.time()
    rows = await store.signals.purge_signals(
        limit, broadcasts_before=now - kept.broadcasts, ended_before=now - kept.signals, now=now
    )
    subscribers = await store.broadcasts.forget_subscribers(now - kept.subscribers, limit)
    letters = await store.webhook_letters.purge_webhook_dead_letters(now - kept.dead_letters, limit)
    return max(rows, subscribers, letters)
