"""What an operator does once an embedder that failed is healthy again."""

from typing import TYPE_CHECKING

from tests.faults.running.world import WORKSPACE
from tests.faults.verifying import streams_reading, truth_reading

if TYPE_CHECKING:
    from tests.faults.running.run import Run


def tried_again(run: "Run") -> None:
    """Replay the embedder's dead letters. If a flush lost those, publish events for the failed memories, as `openbrain
    reindex --stale` does."""
    kinds = {fault.kind for fault in run.plan.faults}
    if "embedder" in kinds:
        streams_reading.replay(run.link, run.prefix)
    if {"embedder", "streams flushed"} <= kinds:
        rows = truth_reading.read(run.truth.url).rows.values()
        failed = [(row.id, row.revision) for row in rows if row.alive and row.error]
        streams_reading.announce(run.link, run.prefix, WORKSPACE, failed)
