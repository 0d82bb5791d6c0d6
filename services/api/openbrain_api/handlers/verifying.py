"""Holding the indexes against the truth is an operation of the housekeeper's; here it is queued."""

from openbrain.domain.errors import Forbidden
from openbrain.domain.ids import uuid7
from openbrain.ports.operations import Operation
from openbrain.ports.reconciling import VERIFY
from openbrain.usecases.auth import OPERATORS
from openbrain_api.handlers.operations import operation_json
from openbrain_api.http.reply import Reply, answer
from openbrain_api.http.route import Call, Nothing
from openbrain_api.requests.verifying import VerifyBody


async def verify(call: Call[VerifyBody, Nothing]) -> Reply:
    """Queue it."""
    if call.actor.workspace_id != OPERATORS:
        raise Forbidden(f"indexes are shared by all workspaces: this needs an admin key of the workspace {OPERATORS}")
    body = call.body
    operation = Operation(
        id=uuid7(call.api.clock.now()),
        workspace_id=OPERATORS,
        kind=VERIFY,
        actor=call.actor.label,
        request={"full": body.full, "repair": body.repair or body.restored, "restored": body.restored},
    )
    shown = operation_json(await call.api.truth.start_operation(operation))
    return answer(shown, shown, status=202)
