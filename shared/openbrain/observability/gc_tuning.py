"""Garbage collection in long-running processes."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLD = 20_000
"""Surplus of allocations over deallocations that triggers a collection. Imports and batches make thousands of objects
at once, nearly all of which stay or are freed without the collector."""


def collect_rarely() -> None:
    """Collect garbage less often than Python does by default. Call this first in a process: its imports make hundreds
    of thousands of objects that stay, and scanning them repeatedly takes an eighth of the start of `openbrain up`."""
    gc.set_threshold(_THRESHOLD)


@contextmanager
def long_running() -> Iterator[None]:
    """Exclude existing objects from garbage collection: hundreds of thousands of modules, classes and adapters.

    Otherwise every full collection scans them all and stops the process for a tenth of a second. Enter once, after the
    process has started. If objects are frozen already, the caller that froze them is responsible.
    """
    before = gc.get_threshold()
    ours = not gc.get_freeze_count()
    if ours:
        gc.collect()
        gc.freeze()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if ours:
            gc.unfreeze()
