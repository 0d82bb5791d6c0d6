"""Jobs `expire` and `purge`: memories past their time end; idempotency keys, operations, recalls, messages, ticks and
silent imports past theirs are removed."""

from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.ports.store.store import Store
from openbrain.settings import Settings

ROUND = 500
"""Rows that one round takes of each kind."""


async def expire(store: Store, limit: int) -> int:
    return await store.writes.expire_due(limit, await store.time())


async def purge_past(store: Store, settings: Settings) -> int:
    """One round of all that time ends, by the database's clock: one of ours that is ahead must give up no import."""
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
    )
