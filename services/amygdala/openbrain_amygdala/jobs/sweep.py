"""What time does to signals, as one round: it says how much it did."""

from dataclasses import asdict, dataclass

from openbrain.observability import metrics
from openbrain.ports.store import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How long, microseconds."""

    broadcasts: int
    signals: int
    """After their end."""
    subscribers: int
    """After they were seen."""
    dead_letters: int


async def sweep(truth: Truth, limit: int) -> int:
    """Move what is due, by the database's clock."""
    swept = await truth.sweep_due(limit, await truth.time())
    for step, number in asdict(swept).items():
        metrics.SIGNALS_MOVED.labels(step).inc(number)
    return swept.total


async def purge(truth: Truth, limit: int, kept: Kept) -> int:
    """Forget what is past its time; the most of any kind."""
    now = await truth.time()
    rows = await truth.purge_signals(
        limit, broadcasts_before=now - kept.broadcasts, ended_before=now - kept.signals, now=now
    )
    subscribers = await truth.forget_subscribers(now - kept.subscribers, limit)
    letters = await truth.purge_webhook_dead_letters(now - kept.dead_letters, limit)
    return max(rows, subscribers, letters)
