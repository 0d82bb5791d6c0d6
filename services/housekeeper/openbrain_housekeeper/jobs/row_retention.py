"""Jobs `expire` and `purge`: memories past their time end; idempotency keys, operations, recalls, messages, ticks and
silent imports past theirs are removed."""

from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.ports.store.store import Store
from openbrain.settings import Settings
from openbrain_housekeeper.jobs.rounds import ROUND


async def expire(store: Store, limit: int) -> int:
    return await store.writes.expire_due(limit, await store.time())


async def purge(store: Store, limit: int, oldest_operation: int, oldest_recall: int) -> int:
    """Forget idempotency keys past their time, operations that ended before `oldest_operation`, and recalls answered
    before `oldest_recall` (microseconds)."""
    keys = await store.writes.purge_idempotency_keys(limit)
    recalls = await store.memories.purge_recalls(oldest_recall, limit)
    return max(keys, recalls, await store.operations.purge_operations(oldest_operation, limit))


async def purge_past(store: Store, settings: Settings) -> int:
    """One round of all that time ends, by the database's clock: one of ours that is ahead must give up no import."""
    now = await store.time()
    kept = settings.recall.tuning.kept_days
    ended = now - settings.housekeeping.tuning.operation_days * DAY
    silent = now - round(settings.housekeeping.tuning.import_silence_s * MICROSECONDS)
    ticks = await store.ticks.purge_ticks(ended, ROUND) + await store.transfer.give_up_imports(silent, ROUND)
    old = now - settings.housekeeping.tuning.message_days * DAY
    messages = await store.messages.purge_messages(old, ROUND)
    undoable = now - settings.housekeeping.tuning.undo_days * DAY
    changes = await store.lifecycle.purge_changes(undoable, ROUND)
    return max(ticks, messages, changes, await purge(store, ROUND, ended, now - kept * DAY))
