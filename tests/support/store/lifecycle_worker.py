"""The housekeeper's lifecycle operations, worked off by who asks for it."""

from openbrain.domain.memory import HALF_LIFE_DAYS
from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import PRUNE, UNDO
from openbrain.ports.store.store import Store
from openbrain_housekeeper.handlers.lifecycle.job import LifecycleStep, RowByRow
from openbrain_housekeeper.handlers.lifecycle.prune import prune
from openbrain_housekeeper.handlers.lifecycle.undo import Undoing
from openbrain_housekeeper.jobs.operations import Step, Worker


def worker(store: Store, clock: Clock, holder: str = "test") -> Worker:
    """One step a round."""
    jobs = RowByRow(store.lifecycle, lambda operation: prune(operation, HALF_LIFE_DAYS))
    steps: dict[str, Step] = {
        PRUNE: LifecycleStep(jobs, store.lifecycle, store.outbox, clock),
        UNDO: Undoing(store.lifecycle, store.outbox, clock),
    }
    return Worker(store.operations, steps, holder, pace_s=0)
