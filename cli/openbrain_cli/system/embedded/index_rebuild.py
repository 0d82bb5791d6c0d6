"""Indexes that another version of OpenBrain made: the process that owns them makes them anew by itself."""

import structlog

from openbrain.domain.ids import uuid7
from openbrain.ports.generations import IndexKind
from openbrain.ports.index_entries import REINDEX
from openbrain.ports.operations import Operation, OperationStatus
from openbrain.runtime.container import Container
from openbrain.usecases.auth import OPERATORS

_OPEN = (OperationStatus.QUEUED, OperationStatus.RUNNING)
_log = structlog.get_logger(__name__)


async def rebuild_foreign(container: Container) -> None:
    """Queue a reindex of each index that this version can't write, unless one is under way."""
    open_ones = await container.store.operations.operations(OPERATORS, 100, kinds={REINDEX}, statuses=_OPEN)
    under_way = {each.request.get("index") for each in open_ones if not each.request.get("in_place")}
    for kind, index in ((IndexKind.TEXT, container.text), (IndexKind.VECTOR, container.vectors)):
        serving = await container.store.generations.serving(kind)
        if serving is None or serving.builder == index.builder or kind.value in under_way:
            continue
        operation = Operation(
            id=uuid7(container.clock.now()),
            workspace_id=OPERATORS,
            kind=REINDEX,
            actor="openbrain up",
            request={"index": kind.value},
        )
        await container.store.operations.start_operation(operation)
        _log.warning(
            "start.index_made_anew",
            index=serving.name,
            operation=operation.id,
            message="another version made it: a new one is built from the database, which answers until then",
        )
