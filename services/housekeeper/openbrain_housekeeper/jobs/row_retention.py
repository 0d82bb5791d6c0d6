"""Jobs `expire` and `purge`: end expired memories; remove old idempotency keys, operations, recalls, messages and
ticks, and give up imports that have been silent for too long."""

from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.ports.store.store import Store
from openbrain.settings import Settings

ROUND = 500
"""Maximum rows of each kind per round."""


async def expire(store: Store, limit: int) -> int:
    return await store.writes.expire_due(limit, await store.time())


async def purge_past(store: Store, settings: Settings) -> int:
    """Do one round for every kind. By the database's clock: one that is ahead would give up running imports."""
    now, kept = await store.time(), settings.housekeeping.tuning
    ended = now - kept.operation_days * DAY
    silent = now - round(kept.import_silence_s * MICROSECONDS)
    answered = now - settings.recall.tuning.kept_days * DAY
    return max(
        await store.ticks.purge_ticks(ended, ROUND) + await store.transfer.give_up_imports(silent, ROUND),
        await store.messages.purge_messages(now - kept.message_days * DAY, ROUND),
        await store.lifecycle.purge_changes(now - kept.undo_days * DAY, ROUND),
        await store.writes.purge_idempotency_keys(ROUND),
        await store.memories.purge_recalls(answered, ROUND),
        await store.operations.purge_operations(ended, ROUND),
        await store.index_writers.purge_writers(),
    )
