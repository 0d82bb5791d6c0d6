"""Garbage collection of a process that runs for long."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLD = 20_000
"""More new objects than gone ones between two collections: batches hold thousands for a moment, and nearly all go
without a collector."""


@contextmanager
def importing() -> Iterator[None]:
    """No collections while modules make what stays: they are a tenth of the time of a large import."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def long_running() -> Iterator[None]:
    """Leave out of garbage collection what is there now: modules, classes, adapters, hundreds of thousands of objects.

    Every full collection would look at them all, and stop the process for a tenth of a second. Enter it once, when the
    process has started. Where the process has frozen objects already, it sees to them itself.
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
