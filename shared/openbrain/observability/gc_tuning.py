"""Garbage collection in long-running processes."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLD = 20_000
"""Surplus of allocations over deallocations that triggers a collection. Batches hold thousands of objects for a moment,
and nearly all are freed without the collector."""


@contextmanager
def importing() -> Iterator[None]:
    """Disable collection during imports, whose objects stay: it takes a tenth of the time of a large import."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


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
    gc.set_threshold(_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if ours:
            gc.unfreeze()
