"""Wiring of lifecycle operations: the step of each kind, paced so that live traffic goes first."""

import time
from collections.abc import Mapping

from openbrain.domain.memory import HALF_LIFE_DAYS
from openbrain.ports.lifecycle import BACKFILL_ORG, CONSOLIDATE, DEDUPE, PRUNE, REFILE, UNDO
from openbrain.runtime.container import Container
from openbrain.usecases.indexes.neighbours import Neighbours
from openbrain_housekeeper.back_pressure import UNDOING_REST, held_back, paced
from openbrain_housekeeper.handlers.lifecycle.clustering.clusters import Clusters
from openbrain_housekeeper.handlers.lifecycle.consolidate import Consolidate
from openbrain_housekeeper.handlers.lifecycle.dedupe import Dedupe
from openbrain_housekeeper.handlers.lifecycle.job import Job, LifecycleStep, RowByRow
from openbrain_housekeeper.handlers.lifecycle.prune import prune
from openbrain_housekeeper.handlers.lifecycle.refile import BackfillOrg, refile
from openbrain_housekeeper.handlers.lifecycle.undo import Undoing
from openbrain_housekeeper.jobs.operations import Step


def lifecycle_steps(container: Container) -> dict[str, Step]:
    store = container.store
    parts = store.lifecycle, store.operations, store.outbox, container.clock
    steps: dict[str, Step] = {kind: paced(LifecycleStep(job, *parts)) for kind, job in jobs(container).items()}
    steps[UNDO] = paced(Undoing(*parts), UNDOING_REST)
    return {kind: held_back(step, container.pressure) for kind, step in steps.items()}


def jobs(container: Container) -> Mapping[str, Job]:
    """One job per kind of `ports.lifecycle.JOBS`."""
    store, lifecycle = container.store, container.store.lifecycle
    half_life_days = {**HALF_LIFE_DAYS, **container.settings.recall.half_life_days}
    neighbours = Neighbours(lambda: container.vectors, store.generations, store.vectors, store.memories)
    return {
        PRUNE: RowByRow(lifecycle, lambda operation: prune(operation, half_life_days)),
        REFILE: RowByRow(lifecycle, refile),
        BACKFILL_ORG: BackfillOrg(lifecycle),
        DEDUPE: Dedupe(Clusters(lifecycle, neighbours, time.monotonic)),
        CONSOLIDATE: Consolidate(Clusters(lifecycle, neighbours, time.monotonic), container.reasoner),
    }
