"""Rebuilds indexes that another version of OpenBrain made, in the process that owns them."""

import structlog

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.ids import uuid7
from openbrain.ports.models import ModelIdentity, cut_otherwise
from openbrain.ports.store.generations import MODEL_CHANGE, Generation, IndexKind
from openbrain.ports.store.index_entries import REINDEX
from openbrain.ports.store.operations import Operation, OperationStatus
from openbrain.runtime.container import Container
from openbrain.usecases.auth import OPERATORS

_OPEN = (OperationStatus.QUEUED, OperationStatus.RUNNING)
_log = structlog.get_logger(__name__)


async def rebuild_foreign(container: Container) -> None:
    """Queue a reindex of each index that this version can't write, unless one is under way; also of the vectors if this
    version splits texts differently for the same model."""
    for kind, index in ((IndexKind.TEXT, container.text), (IndexKind.VECTOR, container.vectors)):
        serving = await container.store.generations.serving(kind)
        if serving is None:
            continue
        model = await _cut_otherwise(container, serving) if kind is IndexKind.VECTOR else None
        if model is None and serving.builder == index.builder:
            continue
        if await _under_way(container, kind, outdated=model is not None):
            continue
        operation = Operation(
            id=uuid7(container.clock.now()),
            workspace_id=OPERATORS,
            kind=REINDEX if model is None else MODEL_CHANGE,
            actor="openbrain up",
            request={"index": kind.value, **({} if model is None else model.request())},
        )
        await container.store.operations.start_operation(operation)
        _log.warning(
            "start.index_made_anew",
            index=serving.name,
            operation=operation.id,
            message="another version made it: it is rebuilt from the database, which answers until then",
        )


async def _under_way(container: Container, kind: IndexKind, *, outdated: bool) -> bool:
    """True if an open operation makes an index that this version can write. `outdated`: the serving one has texts as
    an earlier version split them; cancel an operation with such texts, which would never end."""
    operations, found = container.store.operations, False
    for operation in await operations.operations(OPERATORS, 100, kinds={REINDEX, MODEL_CHANGE}, statuses=_OPEN):
        if operation.request.get("index") != kind.value or operation.request.get("in_place"):
            continue
        if outdated and not await _is_current(container, operation):
            await operations.cancel_operation(OPERATORS, operation.id)
        else:
            found = True
    return found


async def _is_current(container: Container, operation: Operation) -> bool:
    """True if the operation's model still is the one of its name. A reindex takes that of the serving index."""
    if operation.kind == REINDEX:
        return False
    try:
        _, identity = await container.embedders.current(operation.request["model_name"])
    except OpenBrainError:
        return True
    return bool(identity.key == operation.request["model"])


async def _cut_otherwise(container: Container, serving: Generation) -> ModelIdentity | None:
    """The index's model, if it now splits texts differently, else None. If its server is away, the next start tries
    again; until then the memories wait."""
    try:
        _, identity = await container.embedders.current(serving.model_name)
    except OpenBrainError:
        return None
    return identity if cut_otherwise(identity.key, serving.model) else None
