"""The housekeeper's lifecycle operations, run by the caller."""

from openbrain.domain.memory import HALF_LIFE_DAYS
from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import PRUNE, REFILE, UNDO
from openbrain.ports.store.store import Store
from openbrain.runtime.container import Container
from openbrain.usecases.backpressure import Pressure
from openbrain_housekeeper.handlers.lifecycle.job import LifecycleStep, RowByRow
from openbrain_housekeeper.handlers.lifecycle.prune import prune
from openbrain_housekeeper.handlers.lifecycle.refile import refile
from openbrain_housekeeper.handlers.lifecycle.undo import Undoing
from openbrain_housekeeper.jobs.operations import Step, Worker
from openbrain_housekeeper.wiring.lifecycle import lifecycle_steps
from tests.support.api.brain import Brain


def wired_worker(brain: Brain, holder: str = "test", reasoner: object = None) -> Worker:
    """Return a worker for all kinds of operations, wired as in the housekeeper."""
    container = Container(brain.settings, shared=True)
    pressure = Pressure(brain.store.outbox, None, outbox_limit=1_000_000, memory_share=1)
    parts = {"store": brain.store, "vectors": brain.vectors, "clock": brain.clock, "reasoner": reasoner}
    vars(container).update(parts, pressure=pressure)
    return Worker(brain.store.operations, lifecycle_steps(container), holder, pace_s=0)


def worker(store: Store, clock: Clock, holder: str = "test") -> Worker:
    """Return a worker for prune, refile and undo that does one step per round."""
    jobs = RowByRow(store.lifecycle, lambda operation: prune(operation, HALF_LIFE_DAYS))
    parts = store.lifecycle, store.operations, store.outbox, clock
    steps: dict[str, Step] = {
        PRUNE: LifecycleStep(jobs, *parts),
        REFILE: LifecycleStep(RowByRow(store.lifecycle, refile), *parts),
        UNDO: Undoing(*parts),
    }
    return Worker(store.operations, steps, holder, pace_s=0)
