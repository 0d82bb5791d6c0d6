"""Leases, polling intervals and settling times, shortened for tests that do not depend on their length."""

from collections.abc import Callable
from functools import partial
from typing import Any

from openbrain.adapters.sql.work import operations
from openbrain.domain.memory import MICROSECONDS
from openbrain.runtime import container
from openbrain.usecases import backpressure
from openbrain.usecases.indexes import index_writers
from openbrain_housekeeper import app as housekeeper
from openbrain_housekeeper.handlers import close_workspace, reindex
from openbrain_housekeeper.wiring import operations as wired


def shorten(change: Callable[[Any, str, Any], object] = setattr) -> None:
    """Shorten them in this process. `change` sets an attribute of a module: a test's monkeypatch, which restores it, or
    a fork's `setattr`."""
    change(container, "WritableIndexes", partial(index_writers.WritableIndexes, lease_s=0.5))
    change(reindex, "LEASE_S", 0.5)
    change(wired, "Closing", partial(close_workspace.Closing, settle_s=0.5))
    change(housekeeper, "OPERATIONS_POLL_S", 0.1)
    change(housekeeper, "VAULTS_EVERY_S", 1.0)
    change(operations, "PAUSE", MICROSECONDS // 10)
    change(backpressure, "FRESH_S", 0.2)
